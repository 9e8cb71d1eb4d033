import { chromium } from 'playwright-core'

/** Debian's path; set CHROMIUM to use another one. */
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']

/** A real browser that sends no requests on its own. */
export const launch = () =>
  chromium.launch({
    executablePath,
    args: ['--headless', '--no-sandbox', ...quiet, '--disable-component-update', '--disable-sync'],
  })
