import { isDeepStrictEqual } from 'node:util'
import { type Document, stringify } from 'yaml'
import { applyEdits, type Edit, Exotic, editsFor } from './edit.ts'
import { formatJson, type JsonObject } from './json.ts'
import { type ManifestDocument, readManifests } from './manifests.ts'
import { applyPatch, atPath } from './patch.ts'
import type { Preview, Previewed } from './preview.ts'

/**
 * The text of an input with its patches made. What isn't patched comes back byte for byte, and in a YAML document that is, only
 * the lines that must change do. An AdmissionReview gives way to its object. A refused object comes back as it was.
 */
export function writeManifests({ manifests, previews }: Extract<Previewed, { ok: true }>): string {
  const { text, documents } = manifests
  const byDocument = Map.groupBy(previews, ({ object }) => object.document)
  return applyEdits(
    text,
    documents.flatMap((document) => editsOf(document, byDocument.get(document) ?? [], text)),
  )
}

function editsOf(document: ManifestDocument, previews: readonly Preview[], text: string): Edit[] {
  const { value, yaml } = document
  const review = value.kind === 'AdmissionReview' ? previews[0] : undefined
  if (review === undefined && previews.every(({ patch }) => patch.length === 0)) return []
  const target = review
    ? (review.patched ?? review.object.value)
    : applyPatch(
        value,
        previews.flatMap(({ object, patch }) => atPath(object.path, patch)),
      )
  if (yaml === undefined) {
    const end = /\n$/.test(text) ? '\n' : ''
    return [{ start: 0, end: text.length, text: formatJson(target, jsonIndent(text)) + end }]
  }
  return [documentEdit(yaml.tree, text, value, target)]
}

/** How JSON text is indented, by its first line that is; nothing where all is on one line. */
function jsonIndent(text: string): string | undefined {
  return /^\s*\{\s*\n([ \t]+)"/.exec(text)?.[1]
}

function documentEdit(tree: Document.Parsed, text: string, now: JsonObject, target: JsonObject): Edit {
  const [start, , end] = tree.range
  const kept = editedText(tree, text, now, target)
  if (kept !== undefined && reads(kept, target)) return { start, end, text: kept }
  // anchors within the patched part, or a form too rare for line edits: right values, but formatted anew
  const marker = text.startsWith('---', start) ? '---\n' : ''
  const flow = /^(?:---)?\s*\{/.test(text.slice(start, end))
  const fresh = flow ? `${formatJson(target, 2)}\n` : stringify(target, { version: '1.1', lineWidth: 0 })
  return { start, end, text: marker + fresh }
}

function editedText(tree: Document.Parsed, text: string, now: JsonObject, target: JsonObject): string | undefined {
  const [start, , end] = tree.range
  const open = !text.endsWith('\n')
  const closed = open ? `${text}\n` : text
  try {
    const edited = applyEdits(
      closed,
      editsFor(tree, closed, now, target),
      start,
      end === text.length ? closed.length : end,
    )
    return open && end === text.length ? edited.replace(/\r?\n$/, '') : edited
  } catch (error) {
    if (error instanceof Exotic) return undefined
    throw error
  }
}

/** Whether a document's text means a value: what line edits made is believed only when it was read again. */
function reads(text: string, target: JsonObject): boolean {
  const again = readManifests(text)
  return again.ok && again.documents.length === 1 && isDeepStrictEqual(again.documents[0]?.value, target)
}
