import { isDeepStrictEqual } from 'node:util'
import type { Document } from 'yaml'
import type { Operation } from '../admission/words/json.ts'
import { writeYaml } from '../kubernetes/yaml.ts'
import { applyEdits, type Edit, Exotic, editsFor, lineBreak } from './edit.ts'
import { formatJson, type JsonObject } from './json.ts'
import { type ManifestDocument, readManifests } from './manifests.ts'
import { applyPatch, atPath } from './patch.ts'
import type { Preview, Previewed } from './preview.ts'

type Source = Extract<Previewed, { ok: true }>

/** A document that changes. All offsets are in the whole input. */
export interface Rewritten {
  readonly document: ManifestDocument
  readonly start: number
  readonly end: number
  /** Each begins or ends where lines do, but for what precedes a value in its line. */
  readonly edits: readonly Edit[]
  /** Whether its formatting is lost: it is written anew, with other values where they have to be. */
  readonly anew: boolean
}

/**
 * The text of an input with its patches applied. What isn't patched comes back byte for byte, and in a patched YAML document only
 * the necessary lines change. An AdmissionReview is replaced by its object. A refused object comes back as it was.
 */
export function writeManifests(source: Source): string {
  return applyEdits(
    source.manifests.text,
    rewrite(source).flatMap(({ edits }) => edits),
  )
}

/** The documents of an input that change. */
export function rewrite({ manifests: { documents }, previews }: Source): Rewritten[] {
  const byDocument = Map.groupBy(previews, ({ object }) => object.document)
  return documents.flatMap((document) => {
    const target = targetOf(document, byDocument.get(document) ?? [])
    return target === undefined ? [] : [{ document, ...editDocument(document, target) }]
  })
}

/** The edits of a document's text that patch one of its objects, which has this path in it. */
export function editsOf(document: ManifestDocument, path: string, patch: readonly Operation[]): readonly Edit[] {
  return editDocument(document, applyPatch(document.value, atPath(path, patch))).edits
}

function editDocument({ yaml, value, text }: ManifestDocument, target: JsonObject): Omit<Rewritten, 'document'> {
  if (yaml !== undefined) return editYaml(yaml.tree, text, value, target)
  const whole = { start: 0, end: text.length }
  const fresh = formatJson(target, jsonIndent(text)) + (text.endsWith('\n') ? '\n' : '')
  const same = formatJson(value, jsonIndent(text)) + (text.endsWith('\n') ? '\n' : '')
  return { ...whole, edits: [{ ...whole, text: fresh }], anew: same !== text }
}

function targetOf({ value }: ManifestDocument, previews: readonly Preview[]): JsonObject | undefined {
  const [first] = previews
  if (value.kind === 'AdmissionReview') return first?.patched ?? first?.object.value
  const patch = previews.flatMap((preview) => atPath(preview.object.path, preview.patch))
  return patch.length === 0 ? undefined : applyPatch(value, patch)
}

/** How JSON text is indented, by its first line that is; nothing where all is on one line. */
function jsonIndent(text: string): string | undefined {
  return /^\s*\{\s*\n([ \t]+)"/.exec(text)?.[1]
}

function editYaml(
  tree: Document.Parsed,
  text: string,
  now: JsonObject,
  target: JsonObject,
): Omit<Rewritten, 'document'> {
  const [start, , end] = tree.range
  const edits = lineEdits(tree, text, now, target)
  if (edits !== undefined && means(applyEdits(text, edits, start, end), target)) {
    return { start, end, edits, anew: false }
  }
  // anchors within the patched part, or a form too rare for line edits: right values, formatted anew
  const marker = text.startsWith('---', start) ? '---\n' : ''
  const flow = /^(?:---)?\s*\{/.test(text.slice(start, end))
  const fresh = marker + (flow ? `${formatJson(target, 2)}\n` : writeYaml(target))
  const edit = { start, end, text: fresh.replaceAll('\n', lineBreak(text.slice(start, end))) }
  return { start, end, edits: [edit], anew: true }
}

function lineEdits(tree: Document.Parsed, text: string, now: JsonObject, target: JsonObject): Edit[] | undefined {
  // a last line without its break gets one for the work
  const eol = text.endsWith('\n') ? '' : lineBreak(text)
  const { length } = text
  try {
    return editsFor(tree, text + eol, now, target).map((edit) =>
      edit.end <= length
        ? edit
        : {
            start: Math.min(edit.start, length),
            end: length,
            text: (edit.start > length ? eol : '') + edit.text.slice(0, -eol.length),
          },
    )
  } catch (error) {
    if (error instanceof Exotic) return undefined
    throw error
  }
}

/** Whether a document's text means a value: line edits are only used once they were read back. */
function means(text: string, target: JsonObject): boolean {
  const again = readManifests(text, text.length)
  return again.ok && again.documents.length === 1 && isDeepStrictEqual(again.documents[0]?.value, target)
}
