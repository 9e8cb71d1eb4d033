import { isDeepStrictEqual } from 'node:util'
import type { Document } from 'yaml'
import { writeYaml } from './dialect.ts'
import { applyEdits, Exotic, editsFor, lineBreak } from './edit.ts'
import { formatJson, type JsonObject } from './json.ts'
import { type ManifestDocument, readManifests } from './manifests.ts'
import { applyPatch, atPath } from './patch.ts'
import type { Preview, Previewed } from './preview.ts'

type Source = Extract<Previewed, { ok: true }>

/** A document's text before and after. */
export interface Rewritten {
  readonly document: ManifestDocument
  /** Offset of `before` in the whole input. */
  readonly start: number
  readonly before: string
  readonly after: string
}

/**
 * The text of an input with its patches made. What isn't patched comes back byte for byte, and in a YAML document that is, only
 * the lines that must change do. An AdmissionReview gives way to its object. A refused object comes back as it was.
 */
export function writeManifests(source: Source): string {
  const edits = rewrite(source).map(({ start, before, after }) => ({ start, end: start + before.length, text: after }))
  return applyEdits(source.manifests.text, edits)
}

/** The documents of an input that don't come back as they were. */
export function rewrite({ manifests: { text, documents }, previews }: Source): Rewritten[] {
  const byDocument = Map.groupBy(previews, ({ object }) => object.document)
  return documents.flatMap((document) => {
    const target = targetOf(document, byDocument.get(document) ?? [])
    if (target === undefined) return []
    const [start, , end] = document.yaml?.tree.range ?? [0, 0, text.length]
    const after =
      document.yaml === undefined
        ? formatJson(target, jsonIndent(text)) + (text.endsWith('\n') ? '\n' : '')
        : yamlText(document.yaml.tree, text, document.value, target)
    return [{ document, start, before: text.slice(start, end), after }]
  })
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

function yamlText(tree: Document.Parsed, text: string, now: JsonObject, target: JsonObject): string {
  const [start, , end] = tree.range
  const edited = editedText(tree, text, now, target)
  if (edited !== undefined && means(edited, target)) return edited
  // anchors within the patched part, or a form too rare for line edits: right values, formatted anew
  const marker = text.startsWith('---', start) ? '---\n' : ''
  const flow = /^(?:---)?\s*\{/.test(text.slice(start, end))
  return marker + (flow ? `${formatJson(target, 2)}\n` : writeYaml(target))
}

function editedText(tree: Document.Parsed, text: string, now: JsonObject, target: JsonObject): string | undefined {
  const [start, , end] = tree.range
  // a last line without its break gets one for the work
  const open = end === text.length && !text.endsWith('\n')
  const lines = open ? text + lineBreak(text) : text
  try {
    const edited = applyEdits(lines, editsFor(tree, lines, now, target), start, open ? lines.length : end)
    return open ? edited.replace(/\r?\n$/, '') : edited
  } catch (error) {
    if (error instanceof Exotic) return undefined
    throw error
  }
}

/** Whether a document's text means a value: line edits are believed only when they were read again. */
function means(text: string, target: JsonObject): boolean {
  const again = readManifests(text)
  return again.ok && again.documents.length === 1 && isDeepStrictEqual(again.documents[0]?.value, target)
}
