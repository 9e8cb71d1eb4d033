import { formatDuration } from '../../admission/check/duration.ts'
import type { Decision } from '../../admission/decision.ts'
import { podTemplate } from '../../admission/pod/template.ts'
import type { Line } from '../../admission/suggest/suggest.ts'
import { knownText, todayText, whyText } from '../../admission/suggest/words.ts'
import { coded, isCost } from '../../admission/words/messages.ts'
import { printable } from '../../admission/words/printable.ts'
import { writeYaml } from '../../kubernetes/yaml.ts'
import { exact, type Look, type Style, styled } from '../../terminal/look.ts'
import type { Forecast } from '../forecast-bars.ts'
import { either } from '../listed.ts'
import { line, messagesOf } from '../message.ts'
import type { End } from '../predicted-end.ts'
import { awaitedBy, endOf, gatesOf, type Outlook, outlooks, type Preview, startOf, tiersOf } from '../preview.ts'
import { linesOf } from '../suggestion.ts'
import { type Rewritten, rewrite } from '../write.ts'
import { changesOf, unified } from './diff.ts'
import { type PreviewedFile, titleOf } from './files.ts'
import { endChart, startChart } from './forecast-chart.ts'

const styles: Record<Outlook, Style> = {
  patched: 'green',
  unchanged: 'green',
  refused: 'red',
  'refused-unless-injected': 'yellow',
  'depends-on-namespace': 'yellow',
  skipped: 'dim',
}

/** Up to so many skipped objects are listed one by one; more would only hide the others. */
const fewSkipped = 3

/** What a person reads: each object with why, warnings, order, chart and diff; then what was skipped, and how many there are. */
export function describe(files: readonly PreviewedFile[], look: Look): string {
  const all = files.flatMap(({ previewed }) => previewed.previews)
  const skipped = all.filter(isSkipped)
  const gathered = new Set(skipped.length > fewSkipped ? skipped : [])
  const explained = all.find(({ decision }) => tiersOf(decision).length > 0)
  const blocks = files.flatMap((file) => describeFile(file, { gathered, explained }, look))
  if (gathered.size > 0) blocks.push(`${styled(look, 'dim', 'skipped')}: ${skippedFor(gathered)}\n`)
  if (all.length > 1) blocks.push(`${summary(all)}\n`)
  return blocks.join('\n')
}

/** Without a warning or a suggestion, which is somebody's to read. */
const isSkipped = ({ decision, outlook, suggestion }: Preview): boolean =>
  outlook === 'skipped' && decision.warnings.length === 0 && linesOf(suggestion).length === 0

function skippedFor(skipped: ReadonlySet<Preview>): string {
  const byReason = Map.groupBy(skipped, ({ decision }) => decision.reasons.map(coded).join('; '))
  const counted = [...byReason].map(([reason, { length }]) => `${reason} (${length})`)
  return printable(counted.join(', '), 1000)
}

/** `12 patched, 1 refused, 40 skipped` */
export function summary(previews: readonly Preview[]): string {
  const counts = outlooks.map((each) => ({ each, count: previews.filter(({ outlook }) => outlook === each).length }))
  return counts.flatMap(({ each, count }) => (count > 0 ? [`${count} ${each.replaceAll('-', ' ')}`] : [])).join(', ')
}

interface Telling {
  /** Reported together in one line at the end. */
  readonly gathered: ReadonlySet<Preview>
  /** Whose chart says what its marks mean. */
  readonly explained: Preview | undefined
}

/** A block for each object; the last one of a document ends with the document's diff. */
function describeFile(file: PreviewedFile, { gathered, explained }: Telling, look: Look): string[] {
  const { name, previewed } = file
  const rewritten = new Map(rewrite(previewed).map((each) => [each.document, each]))
  const shown = previewed.previews.filter((each) => !gathered.has(each))
  const last = new Map(shown.map((each) => [each.object.document, each]))
  return shown.map((each) => {
    const { object, decision } = each
    const verdict = styled(look, styles[each.outlook], outlookText(each))
    const changed = last.get(object.document) === each ? rewritten.get(object.document) : undefined
    const start = startOf(each)
    const end = endOf(each, start)
    return [
      `${styled(look, 'bold', titleOf(object))} (${oneLine(name)}:${object.line}): ${verdict}\n`,
      ...reasonsOf(each).map((reason) => `  ${oneLine(reason)}\n`),
      ...warningsOf(decision, look).map((line) => `  ${line}\n`),
      ...suggestionOf(each, look).map((line) => `  ${line}\n`),
      ...orderOf(decision, start).map((line) => `  ${oneLine(line)}\n`),
      ...gatesOf(decision).map((gate) => `  ${styled(look, 'dim', oneLine(gateLine(gate)))}\n`),
      ...costsOf(decision, look).map((line) => `  ${line}\n`),
      start === undefined ? '' : chartOf(start, end, each === explained, { ...look, width: look.width - 2 }),
      changed === undefined ? '' : diffOf(file, changed, { ...look, terminal: true }),
    ].join('')
  })
}

/** `refused unless an injector adds vault` */
function outlookText({ outlook, decision }: Preview): string {
  return outlook === 'refused-unless-injected'
    ? oneLine(`refused unless an injector adds ${awaitedBy(decision).join(', ')}`)
    : outlook.replaceAll('-', ' ')
}

/** Why; refusals in the order of the lines. */
function reasonsOf(preview: Preview): readonly string[] {
  const { decision } = preview
  if (decision.verdict !== 'refused') return decision.reasons.map(coded)
  return messagesOf(preview).slice(0, decision.reasons.length).map(line)
}

/** What somebody should act on. */
function warningsOf({ warnings }: Decision, look: Look): string[] {
  const mark = styled(look, 'yellow', '!')
  return warnings.filter((each) => !isCost(each)).map((each) => `${mark} ${coded(each)}`)
}

/** What only names a price comes last. */
function costsOf({ warnings }: Decision, look: Look): string[] {
  const mark = styled(look, 'dim', look.unicode ? '·' : '-')
  return warnings.filter(isCost).map((each) => `${mark} ${coded(each)}`)
}

/** What holds the app back today, and the lines that would, as they stand in a manifest. */
function suggestionOf({ object, decision, suggestion }: Preview, look: Look): string[] {
  if (suggestion === undefined) return []
  const { kind, sidecars } = suggestion
  const open = sidecars.filter(({ holds }) => !holds)
  const today = (kind === 'mend' && decision.verdict === 'skipped' ? open : []).map(
    (known) => `today: ${knownText(known)} ${todayText(known)}`,
  )
  const why = kind === 'none' ? suggestion.why.map((each) => `nothing to suggest: ${coded(each)}`) : []
  const path = podTemplate(object)?.path.slice(1).replaceAll('/', '.') ?? ''
  const place = `${path}${path && '.'}metadata.annotations`
  const add = { mend: `add to ${place}`, faster: `to wait less, add to ${place}` }
  const lines = linesOf(suggestion)
  const conditional = kind === 'mend' ? suggestion.conditional : []
  return [
    ...[...today, ...why].map(oneLine),
    ...(lines.length > 0 && (kind === 'mend' || kind === 'faster')
      ? [`${add[kind]}:`, ...lines.map((line) => added(line, look))]
      : []),
    ...(conditional.length > 0
      ? [
          lines.length > 0 ? 'perhaps also:' : `perhaps add to ${place}:`,
          ...conditional.map((line) => added(line, look)),
        ]
      : []),
  ]
}

function added({ key, value, why }: Line, look: Look): string {
  const line = writeYaml({ [key]: value }).trimEnd()
  return `  ${styled(look, 'green', oneLine(line))}  ${styled(look, 'dim', oneLine(`# ${whyText(why)}`))}`
}

/** `gate hook: the app starts without envoy if it crashes, …` */
function gateLine({ form, sidecars, opensOn }: ReturnType<typeof gatesOf>[number]): string {
  const names = either(sidecars)
  if (opensOn.length === 0) return `gate ${form}: the app never starts without ${names}`
  return `gate ${form}: the app starts without ${names} ${form === 'lock' ? 'only if' : 'if'} ${either(opensOn)}`
}

/** Names in a manifest may be of any length, and hold line breaks. */
const oneLine = (text: string): string => printable(text, 4096)

/** The start order in lines: the tiers, then the rest. */
function orderOf(decision: Decision, start: Forecast | undefined): string[] {
  const tiers = tiersOf(decision).map((tier) => {
    const members = tier.map(({ name, check, timeout, onTimeout, every }) => {
      if (every !== undefined) return `${name} (${check}, its startupProbe, every ${formatDuration(every * 1000)})`
      const limit = timeout === undefined ? '' : `, ${formatDuration(timeout)}, then ${onTimeout ?? 'fail'}`
      return `${name} (${check}${limit})`
    })
    return members.join(' + ')
  })
  const apps = (start?.with ?? []).filter(({ role }) => role === 'app').map(({ name }) => name)
  return [...tiers, ...(apps.length > 0 ? [apps.join(', ')] : [])].map((line, index) => `${index + 1}. ${line}`)
}

function chartOf(start: Forecast, end: End | undefined, explained: boolean, look: Look): string {
  const chart = startChart(start, explained, look) + (end === undefined ? '' : `\n${endChart(end, explained, look)}`)
  return `\n${chart.replaceAll(/^(?=.)/gm, '  ')}\n`
}

/** A unified diff of the whole file, exact unless it goes to a terminal: the context of a change goes beyond its document, or `patch` would not take it. */
export function fileDiff(file: PreviewedFile, look: Look): string {
  const edits = rewrite(file.previewed).flatMap((each) => each.edits)
  const { length } = file.previewed.manifests.text
  return edits.length === 0 ? '' : diffOf(file, { start: 0, end: length, edits }, look)
}

function diffOf(
  { name, previewed }: PreviewedFile,
  { start, end, edits }: Pick<Rewritten, 'start' | 'end' | 'edits'>,
  look: Look,
): string {
  const { text, documents } = previewed.manifests
  const line = documents[0]?.yaml?.lines.linePos(start).line ?? 1
  const hunks = unified(changesOf(text, start, end, edits), Math.max(line, 1))
  const lines = [`--- ${name}\n`, `+++ ${name}\n`, ...hunks]
  return lines.map((each) => paint(exact(each, look), look)).join('')
}

const lineStyles: Partial<Record<string, Style>> = { '+': 'green', '-': 'red', '@': 'cyan' }

function paint(line: string, look: Look): string {
  const style = lineStyles[line.charAt(0)]
  return style === undefined ? line : line.replace(/^[^\r\n]+/, (content) => styled(look, style, content))
}
