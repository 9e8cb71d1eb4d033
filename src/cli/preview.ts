import { parseArgs, styleText } from 'node:util'
import type { Decision } from '../admission/decision.ts'
import { formatDuration } from '../admission/duration.ts'
import { formatJson, isObject } from '../preview/json.ts'
import { podTemplate } from '../preview/objects.ts'
import { type Preview, previewResult, tiersOf } from '../preview/preview.ts'
import { type Rewritten, rewrite, writeManifests } from '../preview/write.ts'
import { type Command, UsageError } from './command.ts'
import { changesOf, hunksOf } from './diff.ts'
import { FileError } from './files.ts'
import { joinDocuments } from './inject.ts'
import { fileOptions, type PreviewedFile, previewFiles, refuse, titleOf } from './preview-files.ts'
import { sampleManifest } from './sample.ts'

const help = `Shows what the webhook would do to manifests, without a cluster: why, the start order, and a diff.

Usage: sidecar-first preview [flags] [FILE...]

  -f, --filename FILE   manifests, YAML or JSON; may be repeated; - is standard input
  --config FILE         configuration
  -o, --output FORMAT   text; diff; json as POST /preview gives it; yaml, the patched manifests; patch, the JSON patch of
                        one object (text)

It ends with 1 where an object is refused.

Example:
sidecar-first preview -f - <<'EOF'
${sampleManifest}EOF
`

const options = { ...fileOptions, output: { type: 'string', short: 'o', default: 'text' } } as const

export const preview: Command = {
  help,
  async run(args, terminal) {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const format = formats[values.output]
    if (format === undefined) throw new UsageError(`--output takes ${Object.keys(formats).join(', ')}`)
    try {
      const files = await previewFiles([...values.filename, ...positionals], values.config, terminal)
      if (files.every(({ previewed }) => previewed.previews.length === 0)) {
        throw new FileError(files.map(({ name }) => `${name}: there is no manifest in it`))
      }
      terminal.stdout.write(format(files, terminal.color))
      const all = files.flatMap(({ previewed }) => previewed.previews)
      return all.some(({ decision }) => decision.verdict === 'refused') ? 1 : 0
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      terminal.stderr.write(`${error.message}\n`)
      return 1
    }
  },
}

type Files = readonly PreviewedFile[]

const formats: Partial<Record<string, (files: Files, color: boolean) => string>> = {
  text: (files, color) => files.map((file) => describeFile(file, color)).join('\n'),
  diff: (files, color) => files.map((file) => fileDiff(file, color)).join(''),
  json: (files) => `${formatJson({ results: previewsOf(files).map(previewResult) }, 2)}\n`,
  yaml(files) {
    refuse(files)
    return joinDocuments(files.map(({ previewed }) => writeManifests(previewed)))
  },
  patch(files) {
    const [only, ...others] = previewsOf(files)
    if (only === undefined || others.length > 0) throw new UsageError('--output patch is for one object')
    refuse(files)
    return `${formatJson(only.patch, 2)}\n`
  },
}

const previewsOf = (files: Files): Preview[] => files.flatMap(({ previewed }) => previewed.previews)

type Style = Parameters<typeof styleText>[0]

/** Whether a terminal shows colors is known, so that styleText need not ask. */
const styled = (color: boolean, style: Style, text: string): string =>
  color ? styleText(style, text, { validateStream: false }) : text

const verdictStyles: Record<Decision['verdict'], Style> = {
  patched: 'green',
  unchanged: 'green',
  skipped: 'dim',
  refused: 'red',
}

/** Each object, and after the last one of a document the document's diff. */
function describeFile(file: PreviewedFile, color: boolean): string {
  const { name, previewed } = file
  const rewritten = new Map(rewrite(previewed).map((each) => [each.document, each]))
  const last = new Map(previewed.previews.map((each) => [each.object.document, each]))
  return previewed.previews
    .map((each) => {
      const { object, decision } = each
      const verdict = styled(color, verdictStyles[decision.verdict], decision.verdict)
      const head = `${styled(color, 'bold', titleOf(object))} (${name}:${object.line}): ${verdict}\n`
      const changed = last.get(object.document) === each ? rewritten.get(object.document) : undefined
      const diff = changed === undefined ? '' : diffOf(file, changed, color)
      const body = [
        ...decision.reasons.map((reason) => `  ${reason}\n`),
        ...decision.warnings.map((warning) => `  ${styled(color, 'yellow', '!')} ${warning}\n`),
        ...orderOf(each).map((line) => `  ${line}\n`),
      ]
      return head + body.join('') + diff
    })
    .join('\n')
}

/** The start order in lines: the tiers, then the rest. */
function orderOf({ object, decision, patched }: Preview): string[] {
  const tiers = tiersOf(decision)
  if (tiers.length === 0 || patched === undefined) return []
  const pod = podTemplate({ ...object, value: patched })?.pod
  const spec = isObject(pod) && isObject(pod.spec) ? pod.spec : {}
  const containers = Array.isArray(spec.containers) ? spec.containers.filter(isObject) : []
  const sidecars = new Set(tiers.flat().map(({ name }) => name))
  const rest = containers.map(({ name }) => String(name)).filter((name) => !sidecars.has(name))
  const lines = tiers.map((tier, index) => {
    const members = tier.map(({ name, check, timeout, onTimeout }) => {
      const limit = timeout === undefined ? '' : `, ${formatDuration(timeout)}, then ${onTimeout ?? 'fail'}`
      return `${name} (${check}${limit})`
    })
    return `${index + 1}. ${members.join(' + ')}`
  })
  return rest.length === 0 ? lines : [...lines, `${tiers.length + 1}. ${rest.join(', ')}`]
}

/** A unified diff of the whole file: the context of a change goes beyond its document, or `patch` would not take it. */
function fileDiff(file: PreviewedFile, color: boolean): string {
  const edits = rewrite(file.previewed).flatMap((each) => each.edits)
  const { length } = file.previewed.manifests.text
  return edits.length === 0 ? '' : diffOf(file, { start: 0, end: length, edits }, color)
}

function diffOf(
  { name, previewed }: PreviewedFile,
  { start, end, edits }: Pick<Rewritten, 'start' | 'end' | 'edits'>,
  color: boolean,
): string {
  const { text, documents } = previewed.manifests
  const line = documents[0]?.yaml?.lines.linePos(start).line ?? 1
  const hunks = hunksOf(changesOf(text, start, end, edits), Math.max(line, 1))
  return [`--- ${name}\n`, `+++ ${name}\n`, ...hunks].map((each) => paint(each, color)).join('')
}

const lineStyles: Partial<Record<string, Style>> = { '+': 'green', '-': 'red', '@': 'cyan' }

function paint(line: string, color: boolean): string {
  const style = lineStyles[line.charAt(0)]
  return style === undefined ? line : styled(color, style, line)
}
