import { chartStyle, htmlChart, htmlColours } from '../html/chart.ts'
import { type Html, html, htmlPage } from '../html/html.ts'
import { seconds } from '../timeline/draw.ts'
import { isSaid } from './mend.ts'
import { countsOf, fineText, headline, isTold, type Picture } from './report.ts'
import type { Survey, Workload } from './survey.ts'
import { labels, titleOf } from './text.ts'
import { certaintyOf, type Said, told } from './words.ts'

/** What a page says beside the survey. */
interface About {
  readonly pictures: readonly Picture[]
  /** ms, by the API server's clock */
  readonly now: number
  readonly version: string
}

/** One page to hand around: it needs no network, and nothing in it is more than text, whoever named it. */
export function scanHtml(survey: Survey, { pictures, now, version }: About): string {
  const [open, fine] = [survey.workloads.filter(isTold), survey.workloads.filter((each) => !isTold(each))]
  const article = (each: Workload) =>
    articleOf(
      each,
      pictures.find(({ of }) => of === each),
    )
  const notes = survey.limits.map(
    (limit) => html`<li>${line(limit)}</li>
`,
  )
  const body = html`<header>
<h1>Which apps start before their sidecars?</h1>
<p>${headline(survey)}</p>
<p class="quiet">sidecar-first ${version} scan, ${new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')}</p>
</header>
<main>
${numbers(survey)}
${survey.workloads.length > 0 ? key : undefined}
${
  notes.length > 0
    ? html`<ul class="notes">
${notes}</ul>`
    : undefined
}
${open.map(article)}
${
  fine.length > 0
    ? html`<details><summary>${fineText(fine.length, survey)}</summary>
${fine.map(article)}
</details>`
    : undefined
}
</main>
<footer><p class="quiet"><code>sidecar-first explain CODE</code> says what a code means.</p></footer>`
  return htmlPage({ title: 'sidecar-first scan', style, body })
}

function numbers(survey: Survey): Html {
  const { workloads, known, unguarded, sure, probable } = countsOf(survey)
  const number = (
    name: string,
    value: number,
    tone = '',
  ) => html`<div class="${value > 0 ? tone : ''}"><dt>${name}</dt><dd>${value}</dd></div>
`
  return html`<dl class="numbers">
${number('workloads', workloads)}${number('with a known sidecar', known)}${number('unguarded', unguarded, 'probable')}${number('harm seen', sure, 'sure')}${number('harm probable', probable, 'probable')}</dl>`
}

const key = html`<p class="quiet"><b>seen</b> is proven by the spec, the status or an event; <b>probably</b> may have another explanation; <b>unknown</b> is what nobody can say any more.</p>`

const line = (said: Said): Html => {
  const { code, text } = told(said)
  return html`<code class="code">${code}</code> ${text}`
}

function articleOf({ owner, pods, place, sidecars, seen, mend }: Workload, picture: Picture | undefined): Html {
  const row = (
    label: string,
    tone: string,
    text: Html,
  ) => html`<div class="${tone}"><dt>${label}</dt><dd>${text}</dd></div>
`
  return html`<article>
<h2>${titleOf(owner)}</h2>
<p class="quiet">${owner.kind}, ${place ?? `${pods} pod${pods === 1 ? '' : 's'}`}; ${sidecars.map(({ title, today: { sidecar } }) => `${sidecar} (${title})`).join(', ')}</p>
<dl class="rows">
${sidecars.filter(({ ignored }) => !ignored).map(({ today }, index) => row(index === 0 ? 'today' : '', '', line(today)))}${seen.map(
  (each) => {
    const certainty = certaintyOf(each)
    return row(labels[certainty].label, certainty, line(each))
  },
)}${isSaid(mend) ? row('would', '', line(mend)) : undefined}</dl>
${
  mend.kind === 'lines'
    ? html`<p class="would">would mend it, in the pod template's annotations:</p>
<pre>${mend.lines.map(
        ({ key: name, value }) => html`${name}: ${value}
`,
      )}${mend.conditional.map(
        ({ key: name, value }) => html`# if the sidecar is configured for it: ${name}: ${value}
`,
      )}</pre>`
    : undefined
}
${
  picture
    ? html`<p class="would">how ${picture.pod} started:</p>
${htmlChart(picture.bars, (ms) => seconds(ms))}`
    : undefined
}
</article>
`
}

const style = `${htmlColours}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1000px;padding:24px 16px;background:var(--ground);color:var(--ink);font:15px/1.5 Inter,system-ui,sans-serif;-webkit-text-size-adjust:100%}
h1{margin:0;font-size:22px;line-height:1.25}
h2{margin:0;font-size:17px;overflow-wrap:anywhere}
p{margin:4px 0}
code,pre{font:13px/20px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
.quiet,.would{color:var(--muted);font-size:14px;overflow-wrap:anywhere}
.would{margin-top:12px}
.code{color:var(--muted)}
.numbers{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}
.numbers div{flex:1 1 130px;padding:10px 14px;background:var(--surface);border:1px solid var(--line);border-radius:8px}
.numbers dt{color:var(--muted);font-size:13px}
.numbers dd{margin:0;font-size:26px;font-weight:600;line-height:1.2}
.numbers .sure dd,.rows .sure dt{color:var(--bad)}
.numbers .probable dd,.rows .probable dt{color:var(--warn)}
article,.notes,details{margin:16px 0;padding:16px;background:var(--surface);border:1px solid var(--line);border-radius:8px}
.notes{padding-left:32px}
details article{border:0;border-top:1px solid var(--line);border-radius:0;padding:16px 0 0}
summary{cursor:pointer}
:focus-visible{outline:2px solid var(--good);outline-offset:2px}
.rows{margin:12px 0 0}
.rows div{display:grid;grid-template-columns:6em 1fr;gap:0 12px;padding:5px 0;border-top:1px solid var(--line)}
.rows dt{color:var(--muted);font-weight:600}
.rows dd{margin:0;overflow-wrap:anywhere;min-width:0}
pre{margin:4px 0 0;padding:10px 12px;background:var(--sunken);border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere}
@media (max-width:480px){.rows div{grid-template-columns:1fr}}
${chartStyle}`
