import { isAbsolute, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Code, Grade } from '../../admission/words/values.ts'
import { standardInput } from '../../files/files.ts'
import { homepage, version } from '../../version.ts'
import { type PreviewedFiles, remarksOf } from './files.ts'

/** What is known of a code. */
interface Rule {
  readonly code: Code
  readonly kind: string
  readonly grade: Grade
  readonly means: string
  readonly next: string
}

/**
 * For code scanning: SARIF 2.1.0 (OASIS). Paths are relative to `root`, the checkout; standard input has none.
 * @param rules of all codes; those that are used are written
 * @param home where the repository can be read, if it can
 */
export function sarif(found: PreviewedFiles, rules: readonly Rule[], root: string, home = homepage): string {
  const results = remarksOf(found)
  const codes = new Set(results.map(({ code }) => code))
  const used = rules.filter(({ code }) => codes.has(code))
  const indices = new Map(used.map(({ code }, index) => [code, index]))
  const log = {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: { name: 'sidecar-first', semanticVersion: version, rules: used.map((each) => rule(each, home)) },
        },
        columnKind: 'utf16CodeUnits',
        results: results.map((each) => ({
          ruleId: each.code,
          ruleIndex: indices.get(each.code),
          level: levels[each.severity],
          message: { text: each.text },
          locations: [location(each, root)],
        })),
      },
    ],
  }
  return `${JSON.stringify(log, null, 2)}\n`
}

const levels = { refusal: 'error', problem: 'error', warning: 'warning', note: 'note', ok: 'none' } as const

function rule({ code, kind, grade, means, next }: Rule, home: string | undefined) {
  return {
    id: code,
    name: kind,
    shortDescription: { text: means },
    fullDescription: { text: means },
    help: { text: `${means}\nWhat to do: ${next}`, markdown: `${means}\n\nWhat to do: ${next}` },
    ...(home === undefined ? {} : { helpUri: `${home}/blob/main/docs/messages.md#${code.toLowerCase()}` }),
    defaultConfiguration: { level: levels[grade] },
  }
}

function location({ file, line, column, of, path }: ReturnType<typeof remarksOf>[number], root: string) {
  const physicalLocation = {
    artifactLocation: artifact(resolve(file), root),
    region: { startLine: line, startColumn: column },
  }
  return {
    ...(file === standardInput ? {} : { physicalLocation }),
    ...(path !== undefined && { logicalLocations: [{ fullyQualifiedName: path === '' ? of : `${of}: ${path}` }] }),
  }
}

/** In the checkout a path from its root, so that the file is found in every other checkout. */
function artifact(path: string, root: string) {
  const inside = relative(root, path)
  if (isAbsolute(inside) || inside.split(sep)[0] === '..') return { uri: pathToFileURL(path).href }
  return { uri: inside.split(sep).map(encodeURIComponent).join('/'), uriBaseId: '%SRCROOT%' }
}
