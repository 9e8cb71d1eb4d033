import { setFlagsFromString } from 'node:v8'
import { presets } from '../admission/intent/presets.ts'
import { printable } from '../admission/words/printable.ts'
import { createClock } from '../kubernetes/clock.ts'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { ignoredCodes, ignoreHelp, ignoreOption } from '../messages/ignore.ts'
import { withoutIgnored } from '../scan/ignore.ts'
import { failures, hasFailed, type Picture } from '../scan/report.ts'
import type { Survey } from '../scan/survey.ts'
import { type Terminal, UsageError } from '../terminal/command.ts'
import { defineCommand, type Values } from '../terminal/define-command.ts'
import { containerName, namespaceName } from '../terminal/flag.ts'
import { exact, lookOf } from '../terminal/look.ts'
import { createStatusLine, waitOut } from '../terminal/status-line.ts'
import { version } from '../version.ts'

const help = `Finds the apps that start before their sidecars: which workloads have a
well-known sidecar, what holds the app back today, what was seen of their
starts, and the annotation that would mend it. It changes nothing, but files
with --fix, and needs nothing installed: only the right to list pods and, for
what was seen, events.

Usage: sidecar-first scan [flags]

  -n, --namespace NAME  only this namespace (default: all)
  -l, --selector LABELS only pods with these labels, as kubectl takes them
  --preset NAME         only sidecars of this preset; can be repeated
  --sidecar NAME        containers of this name are sidecars, too, though no
                        preset knows them; can be repeated
  -f, --filename PATH   manifests instead of a cluster: a file, a folder, a
                        quoted glob, or -; can be repeated
  --exclude GLOB        with -f or --fix, leave out files and folders of that
                        name
  --config FILE         with -f, the configuration whose rules count
  --fix DIR             write the annotations into the manifests below a folder
                        that have these workloads' kind, namespace and name;
                        comments stay. It says what it wrote and what it
                        couldn't, and exits with 1 if a workload got no line
  -o, --output FORMAT   text; json; html, a page in one file (text)
  --all                 in the text, workloads that need nothing, too
${ignoreHelp}
  --fail-on WHAT        exit with 1 if harm is sure, if it is at least probable,
                        or if a workload is unguarded: sure, probable,
                        unguarded, never (never)
  --context NAME        kubeconfig context (default: the current one)

Example: sidecar-first scan -o html >starts.html
`

const options = {
  namespace: { type: 'string', read: namespaceName, short: 'n' },
  selector: { type: 'string', short: 'l' },
  preset: { type: 'string', choices: presets.map(({ name }) => name), multiple: true, default: [] as string[] },
  sidecar: { type: 'string', read: containerName, multiple: true, default: [] as string[] },
  filename: { type: 'string', short: 'f', multiple: true, default: [] as string[] },
  exclude: { type: 'string', multiple: true, default: [] as string[] },
  config: { type: 'string' },
  fix: { type: 'string' },
  output: { type: 'string', short: 'o', choices: ['text', 'json', 'html'], default: 'text' },
  all: { type: 'boolean', default: false },
  ...ignoreOption,
  'fail-on': { type: 'string', choices: failures, default: 'never' },
  context: { type: 'string' },
} as const

type Flags = Values<typeof options>
type Output = Flags['output']

/** What is wanted, checked. */
interface How {
  /** Presets; all if empty. */
  readonly only: readonly string[]
  /** Containers that are sidecars, too. */
  readonly own: ReadonlySet<string>
  /** Codes. */
  readonly ignored: ReadonlySet<string>
  readonly output: Output
}

/** What has been found, when, and whether all could be looked at. */
interface Found {
  readonly survey: Survey
  readonly pictures: readonly Picture[]
  /** ms */
  readonly now: number
  readonly whole: boolean
}

export const scan = defineCommand({
  help,
  options,
  names: [],
  async run(values, words, terminal) {
    if (words.length > 0)
      throw new UsageError('wrong-arguments', 'scan takes no names; -n and -l narrow it down, -f names files')
    const fromFiles = values.filename.length > 0
    if (!fromFiles && values.fix === undefined && values.exclude.length > 0)
      throw new UsageError('flags-together', '--exclude goes with -f or --fix')
    if (values.fix !== undefined && values.output !== 'text')
      throw new UsageError('flags-together', '--fix says in text what it wrote: leave out --output')
    if (!fromFiles && values.config !== undefined)
      throw new UsageError('flags-together', '--config goes with -f: in a cluster only what holds the app counts')
    if (fromFiles && (values.selector ?? values.context) !== undefined)
      throw new UsageError('flags-together', '-f scans manifests: --selector and --context are for a cluster')
    const ignored = await ignoredCodes(values.ignore)
    const how = { only: values.preset, own: new Set(values.sidecar), ignored, output: values.output }
    const found = await (fromFiles ? ofManifests(values, how, terminal) : ofCluster(values, how, terminal))
    terminal.stdout.write(await written(found, values.output, values.all, terminal))
    const isFixed = values.fix === undefined || (await fix(values.fix, values.exclude, found.survey, terminal))
    return hasFailed(found.survey, values['fail-on']) || !found.whole || !isFixed ? 1 : 0
  },
})

/** Says what became of each workload that has a line. @returns whether all of them have it now */
async function fix(folder: string, exclude: readonly string[], survey: Survey, terminal: Terminal): Promise<boolean> {
  const { fixFolder } = await import('../scan/fix-files.ts')
  const { fixText } = await import('../scan/fix-words.ts')
  const told = (await fixFolder(folder, exclude, survey.workloads)).map(fixText)
  terminal.stdout.write(`\n${told.map(({ code, text }) => `${code} ${printable(text, 4096)}\n`).join('')}`)
  return told.every(({ grade }) => grade !== 'problem')
}

async function written({ survey, pictures, now }: Found, output: Output, all: boolean, terminal: Terminal) {
  switch (output) {
    case 'json': {
      const { scanJson } = await import('../scan/json.ts')
      return exact(scanJson(survey), lookOf(terminal, process.env))
    }
    case 'html': {
      const { scanHtml } = await import('../scan/html.ts')
      return scanHtml(survey, { pictures, now, version })
    }
    case 'text': {
      const { scanText } = await import('../scan/text.ts')
      return scanText(survey, lookOf(terminal, process.env), { all, pictures })
    }
    default:
      return output satisfies never
  }
}

async function ofManifests(
  { filename, exclude, namespace, config }: Flags,
  { only, own, ignored }: How,
  terminal: Terminal,
): Promise<Found> {
  const { previewFiles, problemText } = await import('../preview/show/files.ts')
  const { scanManifests } = await import('../scan/manifests.ts')
  const { configuration, ...files } = await previewFiles(filename, { config, exclude, ignored }, terminal)
  terminal.stderr.write(files.problems.map((problem) => `${problemText(problem)}\n`).join(''))
  const survey = scanManifests(files, { namespace, presets: only, own, configuration })
  const whole = files.problems.length === 0 && survey.limits.every(({ kind }) => kind !== 'template-unread')
  return { survey: withoutIgnored(survey, ignored), pictures: [], now: Date.now(), whole }
}

/** A page of a thousand pods takes a while. */
const timeout = 60_000
/** A start that is drawn takes three calls. */
const mostPictures: Record<Output, number> = { text: 2, html: 6, json: 0 }

async function ofCluster(
  { context, namespace, selector }: Flags,
  { only, own, ignored, output }: How,
  terminal: Terminal,
): Promise<Found> {
  // What thousands of pods leave behind is collected at once, not kept in a young generation that grows to 48 MB.
  setFlagsFromString('--semi-space-growth-factor=1')
  const { kubeconfig } = await loadKubeconfig(context)
  const { connection } = await import('../kubernetes/connection.ts')
  const { rawCalls } = await import('../kubernetes/raw.ts')
  const { objects } = await import('../kubernetes/objects.ts')
  const { scanCluster } = await import('../scan/read.ts')
  const { picturesOf } = await import('../scan/pictures.ts')
  const { now, heard } = createClock()
  const configuration = connection(kubeconfig, { timeout, heard })
  const status = createStatusLine(terminal.stderr)
  const busy = waitOut(status.say)
  try {
    const all = await scanCluster(
      { namespace, labelSelector: selector, presets: only, own },
      { calls: rawCalls(configuration, { busy }), version, now, progress: status.say },
    )
    const survey = withoutIgnored(all, ignored)
    status.say('Drawing…')
    const drawn = { objects: objects(configuration, { busy }), now, most: mostPictures[output] }
    const pictures = await picturesOf(survey, drawn)
    return { survey, pictures, now: now(), whole: true }
  } finally {
    status.end()
  }
}
