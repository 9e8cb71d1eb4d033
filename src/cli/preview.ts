import { presets } from '../admission/intent/presets.ts'
import { podTemplate } from '../admission/pod/template.ts'
import { deliveries, gates } from '../admission/words/choices.ts'
import { isCost } from '../admission/words/messages.ts'
import { catalogue } from '../messages/catalogue.ts'
import { ignoredCodes, ignoreHelp, ignoreOption } from '../messages/ignore.ts'
import { formatJson } from '../preview/json.ts'
import { underKubernetes } from '../preview/kubernetes.ts'
import { type Preview, previewResult } from '../preview/preview.ts'
import {
  complaints,
  fileHelp,
  fileOptions,
  isPlanned,
  type PreviewedFiles,
  previewFiles,
  problemText,
  refuse,
  say,
} from '../preview/show/files.ts'
import { annotations } from '../preview/show/github.ts'
import { sampleManifest } from '../preview/show/sample.ts'
import { sarif } from '../preview/show/sarif.ts'
import { describe, fileDiff } from '../preview/show/text.ts'
import { hasOneOf } from '../preview/tried-lines.ts'
import { writeManifests } from '../preview/write.ts'
import { type ExitCode, UsageError } from '../terminal/command.ts'
import { defineCommand } from '../terminal/define-command.ts'
import { exact, type Look, lookOf } from '../terminal/look.ts'
import { joinDocuments } from './inject.ts'

const help = `Shows what the webhook would do to manifests, without a cluster: why, the start
order as a chart, and a diff.

Usage: sidecar-first preview [flags] [PATH...]

${fileHelp}
  -o, --output FORMAT   text; diff; json, as from POST /preview; yaml, the
                        patched manifests; patch, the JSON patch of one object;
                        github, annotations for GitHub Actions; sarif, for
                        code scanning (text)
${ignoreHelp}
  --fail-on WHAT        exit with 1 if an object is refused, or also if there is
                        a warning other than a cost: refused, warning (refused)

What if, without editing the files:
  --sidecars NAMES      the annotation, such as vault-agent,envoy+otel, on pods
                        that have one of them
  --gate GATE           what holds the app back: hook, native or auto
  --delivery HOW        how the waiting program gets into the pod:
                        init-container, image-volume or shell
  --preset NAME         a rule for a known sidecar, such as istio; can be
                        repeated

It also exits with 1 if a file can't be read as manifests, and with 2 if the
call is wrong.

Example:
sidecar-first preview -f - <<'EOF'
${sampleManifest}EOF
`

const formats = {
  text: ({ files }, look) => describe(files, look),
  diff: ({ files }, look) => files.map((file) => fileDiff(file, look)).join(''),
  json(found, look) {
    const results = previewsOf(found).map((preview) => previewResult(preview))
    return exact(`${formatJson({ kubernetes: underKubernetes(found.configuration), results }, 2)}\n`, look)
  },
  yaml(found, look) {
    refuse(found)
    return exact(joinDocuments(found.files.map(({ previewed }) => writeManifests(previewed))), look)
  },
  patch(found, look) {
    const [only, ...others] = previewsOf(found)
    if (others.length > 0) throw new UsageError('flags-together', '--output patch is for one object')
    refuse(found)
    return exact(`${formatJson(only?.patch ?? [], 2)}\n`, look)
  },
  github: (found) => annotations(found, checkout()),
  sarif: (found, look) => exact(sarif(found, catalogue, checkout()), look),
} satisfies Record<string, (found: Awaited<ReturnType<typeof previewFiles>>, look: Look) => string>

const options = {
  ...fileOptions,
  ...ignoreOption,
  output: { type: 'string', short: 'o', choices: Object.keys(formats) as (keyof typeof formats)[], default: 'text' },
  'fail-on': { type: 'string', choices: ['refused', 'warning'], default: 'refused' },
  sidecars: { type: 'string' },
  gate: { type: 'string', choices: gates },
  delivery: { type: 'string', choices: deliveries },
  preset: { type: 'string', choices: presets.map(({ name }) => name), multiple: true, default: [] as string[] },
} as const

export const preview = defineCommand({
  help,
  options,
  names: 'files',
  async run(values, words, terminal) {
    const ignored = await ignoredCodes(values.ignore)
    const { sidecars, gate, delivery, preset: presets } = values
    const whatIf = { settings: { gate, delivery, presets }, trial: { sidecars, gate, delivery }, assumes: true }
    const found = await previewFiles([...values.filename, ...words], { ...values, ...whatIf, ignored }, terminal)
    if (sidecars !== undefined && !previewsOf(found).some(has(sidecars)))
      say({ kind: 'sidecars-nowhere', sidecars }, ignored, terminal)
    terminal.stdout.write(formats[values.output](found, lookOf(terminal, process.env)))
    // There is no place for reasons in a diff.
    const said = values.output === 'diff' ? complaints(found) : found.problems.map(problemText)
    if (values.output !== 'github' && values.output !== 'sarif')
      terminal.stderr.write(said.map((line) => `${line}\n`).join(''))
    const { version, assumed } = underKubernetes(found.configuration)
    if (assumed && isPlanned(found)) say({ kind: 'assumed-version', version }, ignored, terminal)
    return verdict(found, values['fail-on'])
  },
})

const has = (sidecars: string) => (preview: Preview) => {
  const template = podTemplate(preview.object)
  return template !== undefined && hasOneOf(sidecars, template.pod)
}

function verdict(found: PreviewedFiles, failOn: 'refused' | 'warning'): ExitCode {
  const previews = previewsOf(found)
  if (found.problems.length > 0 || previews.some(({ decision }) => decision.verdict === 'refused')) return 1
  return failOn === 'warning' && previews.some(({ decision }) => !decision.warnings.every(isCost)) ? 1 : 0
}

const checkout = (): string => process.env.GITHUB_WORKSPACE || process.cwd()

const previewsOf = ({ files }: PreviewedFiles): Preview[] => files.flatMap(({ previewed }) => previewed.previews)
