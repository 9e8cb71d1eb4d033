import type { Configuration } from '../../admission/intent/configuration.ts'
import { heard } from '../../admission/words/messages.ts'
import { printable } from '../../admission/words/printable.ts'
import { readConfigurationFile } from '../../files/configuration-file.ts'
import { FileError, readInputs } from '../../files/files.ts'
import { findFiles } from '../../files/paths.ts'
import { ExpectedError, type Terminal, UsageError } from '../../terminal/command.ts'
import { containerName } from '../../terminal/flag.ts'
import { assuming } from '../kubernetes.ts'
import { line, type Message, messagesOf } from '../message.ts'
import { namespacesOf } from '../namespace.ts'
import { type FileNotice, fileNoticeCode, fileNoticeText } from '../notices.ts'
import {
  gatesOf,
  type Preview,
  type Previewed,
  previewObjects,
  type Readable,
  readObjects,
  tiersOf,
} from '../preview.ts'
import { faultCode, faultText, type Problem } from '../problems.ts'
import { withSettings } from '../settings.ts'
import type { Trial } from '../tried-lines.ts'

/** An input with what would happen to each of its objects. */
export interface PreviewedFile {
  readonly name: string
  readonly previewed: Extract<Previewed, { ok: true }>
}

/** What is wrong in a file that can't be read. */
interface FileProblem extends Problem {
  readonly name: string
}

export interface PreviewedFiles {
  readonly files: readonly PreviewedFile[]
  /** Of the files that aren't among them. */
  readonly problems: readonly FileProblem[]
}

/** The flags that `preview` and `inject` share. Files may also be named without `-f`. */
export const fileOptions = {
  filename: { type: 'string', short: 'f', multiple: true, default: [] as string[] },
  exclude: { type: 'string', multiple: true, default: [] as string[] },
  config: { type: 'string' },
  expect: { type: 'string', read: containerName, multiple: true, default: [] as string[] },
  'kubernetes-version': { type: 'string' },
} as const

/** Their part of `--help`. */
export const fileHelp = `  -f, --filename PATH   manifests, YAML or JSON: a file, a folder with all below
                        it, a quoted glob, or - for standard input; can be
                        repeated, and -f can be omitted
  --exclude GLOB        leave out files and folders of that name or path, as in
                        templates or '*/ci/*'; can be repeated
  --config FILE         configuration
  --expect NAME         a container that an injector adds later; can be repeated
  --kubernetes-version VERSION
                        the oldest node's, such as 1.36 (the configuration's):
                        from 1.35 on the app is locked as well`

/** What is previewed, and with what. */
interface Choice {
  readonly config?: string | undefined
  readonly exclude: readonly string[]
  /** The containers that an injector adds. */
  readonly expect?: readonly string[]
  readonly 'kubernetes-version'?: string | undefined
  /** Whether it is for the newest Kubernetes where nobody says another. */
  readonly assumes?: boolean
  /** The codes of warnings and notes that aren't told. */
  readonly ignored: ReadonlySet<string>
  /** Further settings on top of the configuration in the file. */
  readonly settings?: object
  readonly trial?: Trial
}

/**
 * Reads and previews files, or standard input if none is named, and says what isn't looked at.
 * @throws ExpectedError
 */
export async function previewFiles(
  paths: readonly string[],
  { config, exclude, expect, 'kubernetes-version': kubernetesVersion, assumes, ignored, settings, trial = {} }: Choice,
  terminal: Terminal,
): Promise<PreviewedFiles & { readonly configuration: Configuration; readonly newestLocks: () => boolean }> {
  const set = withSettings(await readConfigurationFile(config), { ...settings, kubernetesVersion, injected: expect })
  if (!set.ok) throw new UsageError('flags-together', set.problem)
  const configuration = set.value
  const under = assumes ? assuming(configuration) : configuration
  const { found, excluded } = await findFiles(paths, exclude)
  const tell = (notice: FileNotice) => say(notice, ignored, terminal)
  if (excluded.length > 0) tell({ kind: 'excluded', files: excluded })
  const files: PreviewedFile[] = []
  const problems: FileProblem[] = []
  const others: string[] = []
  const foundBelow = new Set(found.flatMap(({ path, named }) => (named ? [] : [path])))
  const inputs = await readInputs(
    found.map(({ path }) => path),
    terminal,
  )
  const read: { readonly name: string; readonly objects: Readable }[] = []
  for (const [index, { name, text }] of inputs.entries()) {
    if (found[index]?.named === false && !mayBeManifest(text)) {
      others.push(name)
      continue
    }
    const objects = readObjects(text)
    if (objects.ok) read.push({ name, objects })
    else problems.push(...objects.problems.map((problem) => ({ name, ...problem })))
  }
  // A Namespace often has a file of its own.
  const namespaces = namespacesOf(read.flatMap(({ objects }) => objects.objects))
  const previewedUnder = (by: Configuration, objects: Readable) =>
    previewObjects(objects, by, { namespace: '', namespaces, trial })
  for (const { name, objects } of read) {
    const previewed = previewedUnder(under, objects)
    const previews = previewed.previews.map((each) => silenced(each, ignored))
    files.push({ name, previewed: { ...previewed, previews } })
  }
  if (found.length > 0 && others.length === found.length) {
    throw new ExpectedError('no-manifest', `there is no manifest in ${others.map(fileName).join(', ')}`)
  }
  if (problems.length === 0 && files.every(({ previewed }) => previewed.previews.length === 0)) {
    // A chart may render nothing.
    tell({ kind: 'nothing-in-it', files: files.map(({ name }) => name) })
  }
  if (problems.some(({ name, fault }) => fault.kind === 'helm-template' && foundBelow.has(name))) {
    tell({ kind: 'templates-below' })
  }
  if (others.length > 0) tell({ kind: 'passed-over', files: others })
  // Whether the newest Kubernetes locks an app that isn't locked.
  const newestLocks = () =>
    read.some(({ objects }, at) => {
      const { previews } = previewedUnder(assuming(configuration), objects)
      return previews.some((each, nth) => isLocked(each) && !isLocked(files[at]?.previewed.previews[nth]))
    })
  return { files, problems, configuration, newestLocks }
}

const isLocked = (preview: Preview | undefined): boolean =>
  preview !== undefined && gatesOf(preview.decision).some(({ form }) => form === 'lock')

/** Whether the version matters to any of them. */
export const isPlanned = ({ files }: PreviewedFiles): boolean =>
  files.some(({ previewed }) => previewed.previews.some(({ decision }) => tiersOf(decision).length > 0))

/** Says something about files or flags, unless nobody wants to hear of it. */
export function say(notice: FileNotice, ignored: ReadonlySet<string>, { stderr }: Pick<Terminal, 'stderr'>): void {
  const code = fileNoticeCode(notice)
  if (!ignored.has(code)) stderr.write(`${code} ${fileNoticeText(notice)}\n`)
}

/** Whether something in it has a kind: a folder also holds values.yaml, package.json and the like. */
const mayBeManifest = (text: string): boolean => /(?:^|[{,]\s*)["']?kind["']?\s*:/m.test(text)

/** Without the warnings of these codes. */
const silenced = (preview: Preview, ignored: ReadonlySet<string>): Preview => ({
  ...preview,
  ignored,
  decision: { ...preview.decision, warnings: heard(preview.decision.warnings, ignored) },
})

/** A problem as one line. */
export function problemText({ name, document, line, column, fault }: FileProblem): string {
  return `${fileName(name)}:${line}:${column}: document ${document}: ${faultCode(fault)} ${printable(faultText(fault), 4096)}`
}

/** What is said of a place in a file. */
interface Remark extends Omit<Message, 'path'> {
  readonly file: string
  /** `document 2` where it couldn't be read, else the object: `Pod default/sample`. */
  readonly of: string
  /** In that object. */
  readonly path?: string
}

/** Why files can't be read, then what is said of the objects of the others. */
export function remarksOf({ files, problems }: PreviewedFiles): readonly Remark[] {
  const unread = problems.map(({ name, document, line, column, fault }): Remark => {
    const said = { code: faultCode(fault), severity: 'refusal', text: faultText(fault) } as const
    return { ...said, file: name, of: `document ${document}`, line, column }
  })
  const decided = files.flatMap(({ name, previewed }) =>
    previewed.previews.flatMap((each) =>
      messagesOf(each).map((message): Remark => ({ ...message, file: name, of: titleOf(each.object) })),
    ),
  )
  return [...unread, ...decided]
}

/** A remark about an object as one line. */
export const remarkLine = ({ file, line: at, of, ...said }: Remark, what: string): string =>
  `${fileName(file)}:${at}: ${of}${what}: ${line(said)}`

/** Throws a `FileError` with all complaints where there are any. */
export function refuse(found: PreviewedFiles): void {
  const all = complaints(found)
  if (all.length > 0) throw new FileError(all)
}

/** What is wrong in files that can't be read, and why objects are refused, a line each. */
export function complaints(found: PreviewedFiles): readonly string[] {
  const refusals = remarksOf(found).filter(({ severity, path }) => severity === 'refusal' && path !== undefined)
  return [...found.problems.map(problemText), ...refusals.map((each) => remarkLine(each, ' is refused'))]
}

/** A path for a message: somebody else may have chosen the file's name. */
const fileName = (path: string): string => printable(path, 4096)

/** Where and what an object is, for the beginning of a message: `pods.yaml:12: Pod default/sample`. */
export function placeOf(name: string, { object }: Preview): string {
  return `${fileName(name)}:${object.line}: ${titleOf(object)}`
}

/** `Pod default/sample`, in characters that a terminal doesn't obey. */
export function titleOf({ kind, namespace, name }: Preview['object']): string {
  const title = `${kind} ${namespace && `${namespace}/`}${name || '(no name)'}`
  return title.replace(/[^\x20-\x7e]/gu, '?')
}
