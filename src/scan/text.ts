import { printable } from '../admission/words/printable.ts'
import { drawChart, legend } from '../terminal/chart.ts'
import { type Look, type Style, styled } from '../terminal/look.ts'
import { seconds } from '../timeline/draw.ts'
import type { Mend } from './mend.ts'
import { few, fineText, headline, isTold, limitOf, type Picture } from './report.ts'
import type { ScannedWorkload, Survey } from './survey.ts'
import { type Certainty, certaintyOf, type Said, told } from './words.ts'

/** What `seen` is called, by how much it proves. */
export const labels: Record<Certainty, { readonly label: string; readonly style: Style }> = {
  sure: { label: 'seen', style: 'red' },
  probable: { label: 'probably', style: 'yellow' },
  unknown: { label: 'unknown', style: 'dim' },
}

/** A headline, and a paragraph for each workload. @param all guarded ones as well */
export function scanText(
  survey: Survey,
  look: Look,
  { all, pictures }: { all: boolean; pictures: readonly Picture[] },
): string {
  const shown = survey.workloads.filter((each) => all || isTold(each))
  const hidden = survey.workloads.length - shown.length
  const paragraphs = shown.map((each) =>
    paragraph(
      each,
      look,
      pictures.find(({ of }) => of === each),
    ),
  )
  const notes = survey.limits.map((limit) => `${line(limit)}\n`)
  const more = hidden > 0 ? [`${fineText(hidden, survey)}: --all shows ${hidden === 1 ? 'it' : 'them'}\n`] : []
  const head = `${styled(look, 'bold', headline(survey))}\n`
  return [head, ...paragraphs, ...(notes.length + more.length > 0 ? ['\n'] : []), ...notes, ...more].join('')
}

/** Some of it was written by a pod's author, who must not control the terminal. */
const shown = (text: string) => printable(text, 4096)
const line = (said: Said) => {
  const { code, text } = told(said)
  return `${code} ${shown(text)}`
}

function paragraph(workload: ScannedWorkload, look: Look, picture: Picture | undefined): string {
  const { owner, pods, sidecars, seen, mend, place } = workload
  const names = few(sidecars.map(({ preset, today: { sidecar } }) => `${sidecar} (${preset})`))
  const where = place ?? `${pods} pod${pods === 1 ? '' : 's'}`
  const title = `${styled(look, 'bold', shown(titleOf(owner)))}  ${shown(`${owner.kind}, ${where}  ${names.first.join(', ')}${names.more ? ', …' : ''}`)}`
  const row = (label: string, text: string, style?: Style) =>
    `  ${style ? styled(look, style, label.padEnd(9)) : label.padEnd(9)} ${text}\n`
  const today = few(sidecars.filter(({ ignored }) => !ignored))
  const sightings = few(seen)
  return [
    `\n${title}\n`,
    ...today.first.map((each, index) => row(index === 0 ? 'today' : '', line(each.today))),
    ...(today.more ? [row('', today.more)] : []),
    ...sightings.first.map((sighting) => {
      const { label, style } = labels[certaintyOf(sighting)]
      return row(label, line(sighting), style)
    }),
    ...(sightings.more ? [row('', sightings.more)] : []),
    ...mending(mend).map(({ label, text }) => row(label, shown(text), 'green')),
    ...(picture ? [pictured(picture, look)] : []),
  ].join('')
}

/** How one pod started, a little indented. */
function pictured(picture: Picture, look: Look): string {
  const { pod, bars } = picture
  const narrower = { ...look, width: look.width - 2 }
  const lines = `${shown(pod)} started like this${limitOf(picture)}:\n${drawChart(bars, narrower, (ms) => seconds(ms))}${legend(bars, narrower)}`
  return `\n${lines.replaceAll(/^(?=.)/gm, '  ')}`
}

/** `shop/web` */
export const titleOf = ({ namespace, name }: ScannedWorkload['owner']): string =>
  `${namespace && `${namespace}/`}${name}`

/** What would mend it, in lines. */
function mending(mend: Mend): readonly { readonly label: string; readonly text: string }[] {
  const { kind } = mend
  switch (kind) {
    case 'lines': {
      const all = [
        ...mend.lines.map(({ key, value }) => `${key}: ${value}`),
        ...mend.conditional.map(({ key, value }) => `${key}: ${value}   (if the sidecar is configured for it)`),
      ]
      return all.map((text, index) => ({ label: index === 0 ? 'would' : '', text }))
    }
    case 'asked-in-vain':
      return [{ label: 'would', text: line({ kind }) }]
    case 'asked-otherwise':
    case 'no-line':
      return [{ label: 'would', text: line(mend) }]
    case 'nothing-to-mend':
      return []
    default:
      return kind satisfies never
  }
}
