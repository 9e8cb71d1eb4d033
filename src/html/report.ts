import { type Html, html, htmlPage } from './html.ts'
import { chartStyle } from './html-chart.ts'

/** Of which program a report is, and when it was made: ms, by the API server's clock. */
export interface Made {
  readonly version: string
  readonly now: number
}

/** What a command has found, as one page to hand around: it needs no network, and nothing in it is more than text, whoever named it. */
export function htmlReport(report: {
  readonly command: string
  readonly made: Made
  /** Of the browser's tab; the heading by default. */
  readonly title?: string
  readonly heading: string
  readonly headline?: string
  readonly main: Html
  readonly footer?: Html
  /** CSS of ours for what is this report's alone. */
  readonly style: string
}): string {
  const { command, made, heading, title = heading, headline, main, footer } = report
  const body = html`<header>
<h1>${heading}</h1>
${
  headline === undefined
    ? undefined
    : html`<p>${headline}</p>
`
}<p class="quiet">sidecar-first ${made.version} ${command}, ${new Date(made.now).toISOString().replace(/\.\d+Z$/, 'Z')}</p>
</header>
<main>
${main}
</main>${
    footer &&
    html`
<footer>${footer}</footer>`
  }`
  return htmlPage({ title, style: `${style}\n${report.style}\n${chartStyle}`, body })
}

/** The colours are the preview page's, for both themes. */
const style = `:root{color-scheme:light dark;--ground:#f5f6f8;--surface:#fff;--sunken:#eef0f3;--ink:#1c2530;--muted:#566270;--line:#dce1e7;--good:#0b6b5b;--bad:#b91c1c;--warn:#8a4f06;--works:#0e7c66;--starts:#8d97a2;--waits:#a15c07;--early:#c81e1e;--failed:#7f1d1d;--doubtful:#c98a2b;--ends:#4b5a70}
@media (prefers-color-scheme:dark){:root{--ground:#0f1419;--surface:#171d24;--sunken:#222b35;--ink:#e2e7ed;--muted:#9aa6b4;--line:#2a333e;--good:#6fd3bd;--bad:#ff9a94;--warn:#f0b866;--works:#12816b;--starts:#67727e;--waits:#a8650f;--early:#e04444;--failed:#ff9a94;--doubtful:#b7791f;--ends:#56667d}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1000px;padding:24px 16px;background:var(--ground);color:var(--ink);font:15px/1.5 Inter,system-ui,sans-serif;-webkit-text-size-adjust:100%}
h1{margin:0;font-size:22px;line-height:1.25;overflow-wrap:anywhere}
p{margin:4px 0}
.quiet{color:var(--muted);font-size:14px;overflow-wrap:anywhere}
.numbers{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}
.numbers div,section,article,details,main>ul{background:var(--surface);border:1px solid var(--line);border-radius:8px}
.numbers div{flex:1 1 130px;padding:10px 14px}
.numbers dt{color:var(--muted);font-size:13px}
.numbers dd{margin:0;font-size:26px;font-weight:600;line-height:1.2}
section,article,details,main>ul{margin:16px 0;padding:16px}
main>ul{padding-left:32px;overflow-wrap:anywhere}`
