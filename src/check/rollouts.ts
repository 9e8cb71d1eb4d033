import type { V1Pod, V1PodSpec } from '@kubernetes/client-node'
import type { SidecarRollout } from '../../rollouts/types.ts'
import { API_GROUP, API_VERSION, KIND } from '../../rollouts/types.ts'
import { isMissingKind } from '../kubernetes/failure.ts'
import type { ClusterObject, Objects } from '../kubernetes/objects.ts'
import { selectorText } from '../rollout/selector.ts'
import { type Finding, ok, warning } from './finding.ts'
import { type Owner, ownerOf } from './owner.ts'
import type { Check, Site } from './site.ts'

/** Pods and templates whose sidecar isn't what their rollout says. */
export const rollouts = {
  name: 'rollouts',
  async run({ objects }: Pick<Site, 'objects'>) {
    const all = await listRollouts(objects)
    if (all === undefined) return [ok('no SidecarRollout is known here: sidecars are not upgraded in place')]
    if (all.length === 0) return [ok('there is none')]
    const judged: Finding[] = []
    for (const rollout of all) {
      const { namespace } = rollout.metadata
      const labelSelector = selectorText(rollout.spec.selector)
      const pods = await objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, { namespace, labelSelector })
      const images = pods.flatMap((pod) => imageOf(pod, rollout.spec.container))
      judged.push(...judgeRollout(rollout, images, await templatesOf(objects, images, rollout.spec.container)))
    }
    return judged
  },
} satisfies Check

/** A pod with the container, or a template that makes such pods. */
export interface PodImage {
  readonly name: string
  readonly image: string
  readonly owner: Owner
}
export interface TemplateImage {
  /** What holds the template: a Job's may be a CronJob's. */
  readonly holder: Owner
  readonly image: string
}

/** What differs only as long as the rollout goes on isn't told. */
export function judgeRollout(
  { metadata: { name, namespace, generation }, spec, status }: SidecarRollout,
  pods: readonly PodImage[],
  templates: readonly TemplateImage[],
): readonly Finding[] {
  const { container, image } = spec
  const title = `${namespace}/${name}`
  const look = `sidecar-first rollout status -n ${namespace} ${name}`
  if (status === undefined || status.observedGeneration < generation) {
    return [warning(`${title} is not taken up by any controller`, look)]
  }
  const { phase, failure, desired } = status
  if (phase === 'Stopped' || phase === 'RolledBack') {
    return [
      warning(`${title} ${phase === 'Stopped' ? 'has stopped' : 'was rolled back'}: ${failure?.message ?? ''}`, look),
    ]
  }
  if (phase !== 'Complete') return [ok(`${title}: ${phase}, ${status.updatedReady} of ${desired} pods are done`)]

  const right = pods.filter((pod) => pod.image === image)
  const others = pods.filter((pod) => pod.image !== image)
  const findings: Finding[] = []
  if (right.length < desired && others[0]) {
    const [one] = others
    const text = `${title}: ${right.length} of the ${desired} pods that shall have ${container} ${image} have it; ${others.length} have another, such as ${one.name} with ${one.image}`
    findings.push(warning(text, `kubectl set image -n ${namespace} pod/${one.name} ${container}=${image}`))
  }
  // While some pods stay as they are, so may what makes them.
  if (desired >= pods.length) {
    for (const template of templates) if (template.image !== image) findings.push(behind(template, title, spec))
  }
  return findings.length > 0 ? findings : [ok(`${title}: ${right.length} pods have ${container} ${image}, as it says`)]
}

function behind(
  { holder, image }: TemplateImage,
  title: string,
  { container, image: wanted }: SidecarRollout['spec'],
): Finding {
  const { kind, namespace, name } = holder
  const text = `${kind} ${namespace}/${name} makes new pods with ${container} ${image}, and ${title} says ${wanted}`
  const set = `kubectl set image -n ${namespace} ${kind.toLowerCase()}/${name} ${container}=${wanted}`
  if (kind === 'Job')
    return warning(text, 'a Job keeps its template: correct the manifest that the next one is made of')
  if (!settable.has(kind)) return warning(text, `correct the template of ${kind} ${name}`)
  const recreates =
    kind === 'CronJob' || kind === 'ReplicaSet' ? '' : '   (recreates its pods: best with the next release)'
  return warning(text, `${set}${recreates}`)
}

const settable: ReadonlySet<string> = new Set(['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'CronJob'])

/** All there are; undefined where the cluster doesn't know the kind. */
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

/** What is made by a template that it can read, and has the container. */
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

/** A Job that a CronJob has made keeps nothing of its own: the CronJob makes the next. */
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
