import type { V1Pod, V1PodSpec } from '@kubernetes/client-node'
import { sameName } from '../../../rollouts/image.ts'
import type { SidecarRollout } from '../../../rollouts/types.ts'
import { API_GROUP, API_VERSION, KIND } from '../../../rollouts/types.ts'
import { isMissingKind } from '../../kubernetes/failure.ts'
import type { ClusterObject, Objects } from '../../kubernetes/objects.ts'
import { selectorText } from '../../kubernetes/selector.ts'
import { type Owner, ownerOf } from '../../seen/owner.ts'
import type { Finding } from '../findings.ts'
import type { Check, Site } from '../site.ts'

/** Pods and templates whose sidecar isn't what their rollout says. */
export const rollouts = {
  name: 'rollouts',
  async run({ objects, only }: Pick<Site, 'objects' | 'only'>) {
    const known = await listRollouts(objects)
    const all = known?.filter(({ metadata }) => only === undefined || metadata.namespace === only)
    if (all === undefined) return [{ kind: 'rollouts-unknown' } as const]
    if (all.length === 0) return [{ kind: 'no-rollouts' } as const]
    const judged: Finding[] = []
    for (const rollout of all) {
      const images = await podsOf(objects, rollout)
      judged.push(...judgeRollout(rollout, images, await templatesOf(objects, images, rollout.spec.container)))
    }
    return judged
  },
} satisfies Check

/** The templates that make the rollout's pods. */
export async function templatesOfRollout(objects: Objects, rollout: SidecarRollout): Promise<readonly TemplateImage[]> {
  return await templatesOf(objects, await podsOf(objects, rollout), rollout.spec.container)
}

async function podsOf(objects: Objects, { metadata, spec }: SidecarRollout): Promise<PodImage[]> {
  const labelSelector = selectorText(spec.selector)
  const of = { namespace: metadata.namespace, labelSelector }
  const pods = await objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, of)
  return pods.flatMap((pod) => imageOf(pod, spec.container))
}

/** A pod with the container, or a template that makes such pods. */
export interface PodImage {
  readonly name: string
  readonly image: string
  readonly owner: Owner
}
export interface TemplateImage {
  /** What contains the template: for a Job, it may be a CronJob. */
  readonly holder: Owner
  readonly image: string
}

/** Says nothing about differences that the rollout itself will remove. */
export function judgeRollout(
  { metadata: { name, namespace, generation }, spec, status }: SidecarRollout,
  pods: readonly PodImage[],
  templates: readonly TemplateImage[],
): readonly Finding[] {
  const { container, image } = spec
  const rollout = { namespace, name }
  if (status === undefined || status.observedGeneration < generation) {
    return [{ kind: 'rollout-not-taken-up', ...rollout }]
  }
  const { phase, failure, desired, updatedReady } = status
  if (phase === 'Stopped' || phase === 'RolledBack') {
    const progress = status.conditions.find(({ type }) => type === 'Progressing')
    return [{ kind: 'rollout-failed', ...rollout, phase, message: failure?.message ?? progress?.message ?? '' }]
  }
  if (phase !== 'Complete') return [{ kind: 'rollout-under-way', ...rollout, phase, done: updatedReady, desired }]

  const wanted = { ...rollout, container, image }
  const isRight = (has: string) =>
    [image, status.revisions?.at(-1)?.effective ?? image].some((one) => sameName(one, has))
  // Any other image may be a newer release's: nobody is advised to go back from it.
  const origins = status.origins ?? status.previousImages?.map((one) => one.image) ?? []
  const isBehind = (has: string) => !isRight(has) && origins.some((one) => sameName(one, has))
  const right = pods.filter((pod) => isRight(pod.image)).length
  const [one, ...others] = pods.filter((pod) => isBehind(pod.image))
  const findings: Finding[] = []
  if (right < desired && one) {
    findings.push({ kind: 'rollout-undone', ...wanted, right, desired, others: others.length + 1, one })
  }
  // As long as some pods keep the old image, their template may too.
  if (desired >= pods.length) {
    for (const { holder, image: has } of templates) {
      if (!isBehind(has)) continue
      findings.push({ kind: 'rollout-template-behind', ...wanted, template: { ...holder, image: has } })
    }
  }
  return findings.length > 0 ? findings : [{ kind: 'rollout-right', ...wanted, pods: right }]
}

/** All of them; undefined if the cluster doesn't know the kind. */
async function listRollouts(objects: Objects): Promise<readonly SidecarRollout[] | undefined> {
  try {
    const found = await objects.list({ apiVersion: `${API_GROUP}/${API_VERSION}`, kind: KIND })
    return found as unknown as SidecarRollout[]
  } catch (error) {
    if (isMissingKind(error)) return undefined
    throw error
  }
}

function imageOf(pod: V1Pod, container: string): PodImage[] {
  const image = containerImage(pod.spec, container)
  const { name = '', deletionTimestamp } = pod.metadata ?? {}
  const ended = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
  return image === undefined || deletionTimestamp || ended ? [] : [{ name, image, owner: ownerOf(pod) }]
}

const containerImage = (spec: V1PodSpec | undefined, container: string): string | undefined =>
  [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].find(({ name }) => name === container)?.image

const groups: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  ReplicaSet: 'apps/v1',
  StatefulSet: 'apps/v1',
  DaemonSet: 'apps/v1',
  Job: 'batch/v1',
  CronJob: 'batch/v1',
}

/** A workload whose template can be read. */
interface Workload extends ClusterObject {
  readonly spec?: {
    readonly template?: { readonly spec?: V1PodSpec }
    readonly jobTemplate?: { readonly spec?: { readonly template?: { readonly spec?: V1PodSpec } } }
  }
}

async function templatesOf(
  objects: Objects,
  pods: readonly PodImage[],
  container: string,
): Promise<readonly TemplateImage[]> {
  const owners = new Map(pods.map(({ owner }) => [`${owner.kind} ${owner.name}`, owner]))
  const templates = new Map<string, TemplateImage>()
  for (const owner of owners.values()) {
    const found = await readWorkload(objects, owner)
    const template = found?.workload.spec?.template ?? found?.workload.spec?.jobTemplate?.spec?.template
    const image = containerImage(template?.spec, container)
    if (found && image !== undefined)
      templates.set(`${found.holder.kind} ${found.holder.name}`, { holder: found.holder, image })
  }
  return [...templates.values()]
}

/** For a Job made by a CronJob, the CronJob's template counts: it makes the next one. */
async function readWorkload(
  objects: Objects,
  holder: Owner,
): Promise<{ holder: Owner; workload: Workload } | undefined> {
  const { kind, namespace, name } = holder
  const apiVersion = groups[kind]
  if (apiVersion === undefined) return undefined
  const workload = await objects.read<Workload>({ apiVersion, kind, metadata: { name, namespace } })
  const maker = kind === 'Job' ? workload?.metadata?.ownerReferences?.find(({ kind }) => kind === 'CronJob') : undefined
  if (maker) return await readWorkload(objects, { kind: maker.kind, namespace, name: maker.name })
  return workload && { holder, workload }
}
