import type { Configuration } from '../admission/configuration.ts'
import type { Decision, Tiers } from '../admission/decision.ts'
import { formatDuration } from '../admission/duration.ts'
import { misplacedKeys } from '../admission/misplaced.ts'
import type { Operation } from '../admission/operation.ts'
import { isCost, shownWarnings } from '../admission/warning.ts'
import type { JsonObject } from './json.ts'
import { type Manifests, mostProblems, type Problem, readManifests } from './manifests.ts'
import { decideIn } from './namespace.ts'
import { type ManifestObject, objectsOf, podTemplate } from './objects.ts'
import { applyPatch, atPath } from './patch.ts'
import { predictStart, type Start } from './start.ts'

/** What would happen to one object. */
export interface Preview {
  readonly object: ManifestObject
  readonly decision: Decision
  /** From the object's root. */
  readonly patch: readonly Operation[]
  /** The object as it would be; absent where it is refused. */
  readonly patched: JsonObject | undefined
}

export type Previewed =
  | { readonly ok: true; readonly manifests: Extract<Manifests, { ok: true }>; readonly previews: readonly Preview[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/**
 * What would happen to the objects of a text (JSON or YAML), in order. Nothing is said of any where one can't be read. `namespace`: of objects
 * that name none, if it is known.
 */
export function preview(text: string, configuration: Configuration, namespace = ''): Previewed {
  return previewManifests(readManifests(text), configuration, namespace)
}

/** The same of manifests that have been read. */
export function previewManifests(manifests: Manifests, configuration: Configuration, namespace = ''): Previewed {
  if (!manifests.ok) return failed(manifests.problems)
  const found = objectsOf(manifests)
  if (!found.ok) return failed(found.problems)
  const previews = found.objects.map((object) => previewObject(object, configuration, namespace))
  return { ok: true, manifests, previews }
}

function failed(problems: readonly Problem[]): Previewed {
  return { ok: false, problems: problems.slice(0, mostProblems) }
}

function previewObject(found: ManifestObject, configuration: Configuration, assumed: string): Preview {
  const template = podTemplate(found)
  if (template === undefined) {
    const decision: Decision = { verdict: 'skipped', reasons: [`a ${found.kind} has no pod template`], warnings: [] }
    return { object: found, decision, patch: [], patched: found.value }
  }
  const namespace = found.namespace || assumed
  const object = { ...found, namespace }
  const decided = decideIn(namespace, template.pod, configuration, template.surroundings)
  const misplaced = misplacedKeys(found.kind, found.value, template.pod, template.path.split('/').slice(1))
  const decision = { ...decided, warnings: shownWarnings([...decided.warnings, ...misplaced]) }
  switch (decision.verdict) {
    case 'skipped':
    case 'unchanged':
      return { object, decision, patch: [], patched: object.value }
    case 'refused':
      return { object, decision, patch: [], patched: undefined }
    case 'patched': {
      const patch = atPath(template.path, decision.patch)
      return { object, decision, patch, patched: applyPatch(object.value, patch) }
    }
    default:
      return decision satisfies never
  }
}

/** A preview as `/preview` shows it. */
export interface PreviewResult {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly verdict: Decision['verdict']
  readonly reasons: readonly string[]
  readonly warnings: readonly string[]
  /** Those of the warnings that only name a price. */
  readonly costs: readonly string[]
  readonly tiers: readonly (readonly { name: string; check: string; timeout?: string; onTimeout?: string }[])[]
  readonly patch: readonly Operation[]
  readonly patched?: JsonObject
  /** Where there is a plan. */
  readonly start?: Start
}

export function previewResult(preview: Preview): PreviewResult {
  const { object, decision, patch, patched } = preview
  const { apiVersion, kind, namespace, name } = object
  const { verdict, reasons } = decision
  const warnings = decision.warnings.map(({ text }) => text)
  const costs = decision.warnings.filter(isCost).map(({ text }) => text)
  const tiers = tiersOf(decision).map((tier) =>
    tier.map(({ timeout, ...sidecar }) =>
      timeout === undefined ? sidecar : { ...sidecar, timeout: formatDuration(timeout) },
    ),
  )
  const start = startOf(preview)
  const result = { apiVersion, kind, namespace, name, verdict, reasons, warnings, costs, tiers, patch }
  return { ...result, ...(patched && { patched }), ...(start && { start }) }
}

/** How its pods would start; undefined where there is no plan. */
export function startOf({ object, decision, patched }: Preview): Start | undefined {
  const tiers = tiersOf(decision)
  if (patched === undefined || tiers.length === 0) return undefined
  const given = podTemplate(object)
  const wanted = podTemplate({ ...object, value: patched })
  return given && wanted && predictStart(given.pod, wanted.pod, tiers)
}

/** The tiers of a decision; none where it has no plan. */
export function tiersOf(decision: Decision): Tiers {
  return 'tiers' in decision ? decision.tiers : []
}

/** A problem as one line. */
export function problemLine({ document, line, column, message }: Problem): string {
  return `document ${document}, line ${line}, column ${column}: ${message}`
}
