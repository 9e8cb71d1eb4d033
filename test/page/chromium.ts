import { chromium } from 'playwright-core'

/** Debian's; elsewhere CHROMIUM says where it is. */
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']

/** A real browser that asks nobody for anything of its own accord. */
export const launch = () =>
  chromium.launch({
    executablePath,
    args: ['--headless', '--no-sandbox', ...quiet, '--disable-component-update', '--disable-sync'],
  })
