import type { ParseArgsOptionsConfig } from 'node:util'
import { type Problem, readJson } from '../preview/manifests.ts'
import { type Preview, type Previewed, preview } from '../preview/preview.ts'
import type { Terminal } from './command.ts'
import { readConfigurationFile } from './configuration.ts'
import { FileError, readInputs } from './files.ts'
import { findFiles } from './paths.ts'

/** An input with what would happen to each of its objects. */
export interface PreviewedFile {
  readonly name: string
  readonly previewed: Extract<Previewed, { ok: true }>
}

/** What is wrong in a file that can't be read. */
export interface FileProblem extends Problem {
  readonly name: string
}

export interface PreviewedFiles {
  readonly files: readonly PreviewedFile[]
  /** Of the files that aren't among them. */
  readonly problems: readonly FileProblem[]
}

/** The flags that `preview` and `inject` share. Files may also be named without `-f`. */
export const fileOptions = {
  filename: { type: 'string', short: 'f', multiple: true, default: [] },
  config: { type: 'string' },
} as const satisfies ParseArgsOptionsConfig

/** What `--help` says of them. */
export const fileHelp = `  -f, --filename PATH   manifests, YAML or JSON: a file, a folder and all below it, a quoted glob, or - for standard input;
                        may be repeated, and -f may be left out
  --config FILE         configuration`

/** YAML takes a few seconds and half a gigabyte for this many characters, and worse if somebody means it to. */
const mostYaml = 8_000_000

/**
 * Reads and previews files (standard input where none is named). Throws `UsageError`, or `FileError` about the configuration or where
 * nothing is a manifest.
 */
export async function previewFiles(
  paths: readonly string[],
  config: string | undefined,
  terminal: Terminal,
): Promise<PreviewedFiles> {
  const configuration = await readConfigurationFile(config)
  const found = await findFiles(paths)
  const files: PreviewedFile[] = []
  const problems: FileProblem[] = []
  const others: string[] = []
  const inputs = await readInputs(
    found.map(({ path }) => path),
    terminal,
  )
  for (const [index, { name, text }] of inputs.entries()) {
    if (found[index]?.named === false && !mayBeManifest(text)) {
      others.push(name)
      continue
    }
    const previewed = isTooLong(text) ? tooLong : preview(text, configuration)
    if (previewed.ok) files.push({ name, previewed })
    else problems.push(...previewed.problems.map((problem) => ({ name, ...problem })))
  }
  if (found.length > 0 && others.length === found.length) {
    throw new FileError([`there is no manifest in ${others.join(', ')}`])
  }
  if (problems.length === 0 && files.every(({ previewed }) => previewed.previews.length === 0)) {
    throw new FileError(files.map(({ name }) => `${name}: there is no manifest in it`))
  }
  if (others.length > 0) terminal.stderr.write(`no manifests, passed over: ${others.join(', ')}\n`)
  return { files, problems }
}

/** Whether something in it has a kind: a folder also holds values.yaml, package.json and the like. */
const mayBeManifest = (text: string): boolean => /(?:^|[{,]\s*)["']?kind["']?\s*:/m.test(text)

const tooMuch = `more than ${mostYaml / 1e6} MB of YAML; split it, or give it as JSON`
const isTooLong = (text: string): boolean => text.length > mostYaml && readJson(text) === undefined
const tooLong: Previewed = { ok: false, problems: [{ document: 1, line: 1, column: 1, message: tooMuch }] }

/** A problem as one line. */
export function problemText({ name, document, line, column, message }: FileProblem): string {
  return `${name}:${line}:${column}: document ${document}: ${message}`
}

/** Throws a `FileError` with all complaints where there are any. */
export function refuse(found: PreviewedFiles): void {
  const all = complaints(found)
  if (all.length > 0) throw new FileError(all)
}

/** What is wrong in files that can't be read, and why objects are refused, a line each. */
export function complaints({ files, problems }: PreviewedFiles): readonly string[] {
  const reasons = files.flatMap(({ name, previewed }) =>
    previewed.previews
      .filter(({ decision }) => decision.verdict === 'refused')
      .flatMap((each) => each.decision.reasons.map((reason) => `${placeOf(name, each)} is refused: ${reason}`)),
  )
  return [...problems.map(problemText), ...reasons]
}

/** Where and what an object is, for the beginning of a message: `pods.yaml:12: Pod default/sample`. */
export function placeOf(name: string, { object }: Preview): string {
  return `${name}:${object.line}: ${titleOf(object)}`
}

/** `Pod default/sample`, in characters that a terminal doesn't obey. */
export function titleOf({ kind, namespace, name }: Preview['object']): string {
  const title = `${kind} ${namespace && `${namespace}/`}${name || '(no name)'}`
  return title.replace(/[^\x20-\x7e]/gu, '?')
}
