import { skipped } from '../admission/decision.ts'
import { isMap } from '../admission/pod/reader.ts'
import { podTemplate } from '../admission/pod/template.ts'
import { readManifests } from '../preview/manifests.ts'
import { type ManifestObject, objectsOf } from '../preview/objects.ts'
import { applyPatch } from '../preview/patch.ts'
import type { Preview } from '../preview/preview.ts'
import { faultText } from '../preview/problems.ts'
import { annotating } from '../preview/suggestion.ts'
import { rewrite, writeManifests } from '../preview/write.ts'
import type { Fix, WhyNot } from './fix-words.ts'
import type { ScannedWorkload } from './survey.ts'
import { titleOf } from './text.ts'

/** A file with manifests, perhaps. */
export interface FixFile {
  /** For people. */
  readonly name: string
  readonly text: string
}

/** What is to be written, and what is said of it. */
interface Fixes {
  /** The files that change, with their new text. */
  readonly changed: readonly { readonly file: FixFile; readonly text: string; readonly told: readonly Fix[] }[]
  readonly told: readonly Fix[]
  /** The files that couldn't be read and may have what was found in none. */
  readonly unread: readonly Fix[]
}

type Lines = Extract<ScannedWorkload['mend'], { kind: 'lines' }>['lines']

interface Match {
  readonly file: FixFile
  readonly object: ManifestObject
}

/** The lines of a scan, in the manifests of its workloads: found by kind, namespace and name. Pure. */
export function fixesFor(workloads: readonly ScannedWorkload[], files: readonly FixFile[]): Fixes {
  const all = workloads.flatMap(({ owner, mend }) => (mend.kind === 'lines' ? [{ owner, ...mend }] : []))
  // The same one may stand in several manifests that were scanned.
  const wanted = [...new Map(all.map((each) => [JSON.stringify(each), each])).values()]
  if (wanted.length === 0) return { changed: [], told: [{ kind: 'fixed-none' }], unread: [] }
  const told: Fix[] = []
  const unread: Fix[] = []
  // A generateName is shown with a `*` behind it.
  const names = new Set(wanted.map(({ owner }) => owner.name.replace(/\*$/, '')))
  const found = new Map<string, Match[]>()
  const read = new Map<FixFile, Extract<ReturnType<typeof readManifests>, { ok: true }>>()
  for (const file of files) {
    if (!mayHold(file.text, wanted, names)) continue
    const manifests = readManifests(file.text)
    const objects = manifests.ok ? objectsOf(manifests) : manifests
    if (!manifests.ok || !objects.ok) {
      const [first] = objects.ok ? [] : objects.problems
      const isHelm = first?.fault.kind === 'helm-template'
      const detail = first && `line ${first.line}: ${faultText(first.fault)}`
      unread.push({
        kind: 'not-written',
        place: file.name,
        ...(isHelm ? { why: 'helm' } : { why: 'unreadable', detail: detail ?? '' }),
      })
      continue
    }
    read.set(file, manifests)
    for (const object of objects.objects) {
      const key = `${object.kind} ${object.name}`
      const all = found.get(key) ?? []
      found.set(key, all)
      if (podTemplate(object)) all.push({ file, object })
    }
  }
  const chosen = new Map<FixFile, { readonly object: ManifestObject; readonly lines: Lines; readonly fix: Fix }[]>()
  for (const { owner, lines, holds } of wanted) {
    const object = `${owner.kind} ${titleOf(owner)}`
    const named = found.get(`${owner.kind} ${owner.name}`) ?? []
    // Without a namespace it is made in the one that kubectl is told.
    const exact = named.filter((each) => each.object.namespace === owner.namespace)
    const [match, ...others] = exact.length > 0 ? exact : named.filter((each) => each.object.namespace === '')
    if (!holds) told.push({ kind: 'own-check-needed', object })
    else if (match === undefined) told.push({ kind: 'no-file', object })
    else if (others.length > 0) told.push({ kind: 'several-files', object, places: [match, ...others].map(placeOf) })
    else {
      const fix = judge(match, lines, object)
      if (fix.kind !== 'written') told.push(fix)
      else chosen.set(match.file, [...(chosen.get(match.file) ?? []), { object: match.object, lines, fix }])
    }
  }
  const changed = [...chosen].flatMap(([file, some]) => {
    const manifests = read.get(file)
    if (!manifests) return []
    const previews = some.map(({ object, lines }): Preview => {
      const patch = annotating(object, lines)
      return { object, outlook: 'skipped', decision: skipped([], []), patch, patched: applyPatch(object.value, patch) }
    })
    const source = { ok: true, manifests, previews } as const
    if (rewrite(source).some(({ anew }) => anew)) {
      told.push({ kind: 'not-written', place: file.name, why: 'form' })
      return []
    }
    return [{ file, text: writeManifests(source), told: some.map(({ fix }) => fix) }]
  })
  return { changed, told, unread: told.some(({ kind }) => kind === 'no-file') ? unread : [] }
}

/** Whether it is worth reading, which takes up to 3 s for a megabyte: it has a name that is wanted, or is a template of such an object. */
function mayHold(text: string, wanted: readonly { owner: { kind: string } }[], names: ReadonlySet<string>): boolean {
  const words = new Set(text.match(/[a-z0-9][a-z0-9.-]*/g))
  if ([...names].some((name) => words.has(name))) return true
  return text.includes('{{') && wanted.some(({ owner }) => text.includes(`kind: ${owner.kind}`))
}

const placeOf = ({ file, object }: Match): string => `${file.name}:${object.line}`

/** What is to be done with the only manifest of a workload. */
function judge(match: Match, lines: Lines, object: string): Fix {
  const place = placeOf(match)
  const why = untouchable(match)
  if (why !== undefined) return { kind: 'not-written', place, why }
  const annotations = annotationsOf(match.object)
  const other = lines.find(({ key, value }) => annotations[key] !== undefined && annotations[key] !== value)
  if (other) return { kind: 'says-otherwise', place, object, key: other.key }
  const missing = lines.filter(({ key }) => annotations[key] === undefined)
  if (missing.length === 0) return { kind: 'there-already', place, object }
  return { kind: 'written', place, object, lines: missing.map(({ key, value }) => `${key}: ${value}`) }
}

function untouchable({ file, object }: Match): WhyNot | undefined {
  if (object.document.value.kind === 'AdmissionReview') return 'review'
  return generated.test(file.text.slice(0, beginning)) ? 'generated' : undefined
}

/** What generators write at the beginning; `helm template` names the template that each object is from. */
const generated =
  /^[ \t]*(?:#|\/\/)[^\n]*(?:do not edit|code generated|auto-?generated|(?:file|manifest)[^\n]{0,40} generated)|^# Source: \S+\/templates\//im
const beginning = 4096

function annotationsOf(object: ManifestObject): Readonly<Record<string, unknown>> {
  const { metadata } = podTemplate(object)?.pod ?? {}
  return isMap(metadata) && isMap(metadata.annotations) ? metadata.annotations : {}
}
