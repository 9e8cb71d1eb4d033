import { type Html, html } from '../html/html.ts'
import { htmlChart } from '../html/html-chart.ts'
import { htmlReport, type Made } from '../html/report.ts'
import { seconds } from '../timeline/draw.ts'
import { isSaid } from './mend.ts'
import { countsOf, few, fineText, headline, isTold, limitOf, type Picture } from './report.ts'
import type { ScannedWorkload, Survey } from './survey.ts'
import { labels, titleOf } from './text.ts'
import { certaintyOf, type Said, told } from './words.ts'

/** A survey as one page. */
export function scanHtml(
  survey: Survey,
  { pictures, ...made }: Made & { readonly pictures: readonly Picture[] },
): string {
  const [open, fine] = [survey.workloads.filter(isTold), survey.workloads.filter((each) => !isTold(each))]
  const article = (each: ScannedWorkload) =>
    articleOf(
      each,
      pictures.find(({ of }) => of === each),
    )
  const notes = survey.limits.map(
    (limit) => html`<li>${line(limit)}</li>
`,
  )
  const main = html`${numbers(survey)}
${survey.workloads.length > 0 ? key : undefined}
${
  notes.length > 0
    ? html`<ul>
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
}`
  return htmlReport({
    command: 'scan',
    made,
    title: 'sidecar-first scan',
    heading: 'Which apps start before their sidecars?',
    headline: headline(survey),
    main,
    footer: html`<p class="quiet"><code>sidecar-first explain CODE</code> says what a code means.</p>`,
    style,
  })
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

function articleOf({ owner, pods, place, sidecars, seen, mend }: ScannedWorkload, picture: Picture | undefined): Html {
  const row = (
    label: string,
    tone: string,
    text: Html,
  ) => html`<div class="${tone}"><dt>${label}</dt><dd>${text}</dd></div>
`
  const names = few(sidecars.map(({ title, today: { sidecar } }) => `${sidecar} (${title})`))
  const said = few(sidecars.filter(({ ignored }) => !ignored))
  const sightings = few(seen)
  const more = (text: string | undefined) => (text === undefined ? undefined : row('', '', html`${text}`))
  return html`<article>
<h2>${titleOf(owner)}</h2>
<p class="quiet">${owner.kind}, ${place ?? `${pods} pod${pods === 1 ? '' : 's'}`}; ${names.first.join(', ')}${names.more ? ', …' : ''}</p>
<dl class="rows">
${said.first.map(({ today }, index) => row(index === 0 ? 'today' : '', '', line(today)))}${more(said.more)}${sightings.first.map(
  (each) => {
    const certainty = certaintyOf(each)
    return row(labels[certainty].label, certainty, line(each))
  },
)}${more(sightings.more)}${isSaid(mend) ? row('would', '', line(mend)) : undefined}</dl>
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
    ? html`<p class="would">how ${picture.pod} started${limitOf(picture)}:</p>
${htmlChart(picture.bars, (ms) => seconds(ms))}`
    : undefined
}
</article>
`
}

const style = `h2{margin:0;font-size:17px;overflow-wrap:anywhere}
code,pre{font:13px/20px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
.would{margin-top:12px;color:var(--muted);font-size:14px;overflow-wrap:anywhere}
.code{color:var(--muted)}
.numbers .sure dd,.rows .sure dt{color:var(--bad)}
.numbers .probable dd,.rows .probable dt{color:var(--warn)}
details article{border:0;border-top:1px solid var(--line);border-radius:0;padding:16px 0 0}
summary{cursor:pointer}
:focus-visible{outline:2px solid var(--good);outline-offset:2px}
.rows{margin:12px 0 0}
.rows div{display:grid;grid-template-columns:6em 1fr;gap:0 12px;padding:5px 0;border-top:1px solid var(--line)}
.rows dt{color:var(--muted);font-weight:600}
.rows dd{margin:0;overflow-wrap:anywhere;min-width:0}
pre{margin:4px 0 0;padding:10px 12px;background:var(--sunken);border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere}
@media (max-width:480px){.rows div{grid-template-columns:1fr}}`
