import type { KubernetesObject, V1Namespace, V1Pod } from '@kubernetes/client-node'
import { misplacedKeys } from '../../admission/intent/misplaced.ts'
import type { Json } from '../../admission/words/json.ts'
import { allowed } from '../../kubernetes/failure.ts'
import type { Objects } from '../../kubernetes/objects.ts'
import { judge } from '../../outcome/outcome.ts'
import { pathOf } from '../../preview/place.ts'
import { observe } from '../../seen/observe.ts'
import { ownerOf, renewal } from '../../seen/owner.ts'
import { type Finding, type Told, told } from '../findings.ts'
import type { Installed } from '../site.ts'
import { type Circumstances, circumstancesOf, sidecarsToday } from './circumstances.ts'
import { authorIsWarned, createdOf } from './coverage.ts'
import { creationFindings } from './creation.ts'
import { workloadFindings } from './pods-of-workload.ts'
import { startFindings } from './start.ts'
import { podKind, type SubjectKind } from './subject.ts'
import { explain, verdictOn } from './template.ts'

/**
 * Reads one pod, or a workload with a template, and says why it was patched or wasn't.
 * @throws ClusterError if it can't be read
 */
export async function examineOne(
  { objects, installed, version, now }: { objects: Objects; installed: Installed; version: string; now: () => number },
  { kind, name, namespace }: { kind: SubjectKind; name: string; namespace: string },
): Promise<readonly Told[]> {
  const object = await objects.read<KubernetesObject>({ ...kind, metadata: { name, namespace } })
  if (!object) return [told({ kind: 'subject-missing', subject: kind.kind, name, namespace })]
  const reference = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
  const home = await allowed(objects.read<V1Namespace>(reference))
  const findings: Finding[] = []
  if (object.metadata?.deletionTimestamp !== undefined) findings.push({ kind: 'subject-ending', subject: kind.kind })
  const { mutating, validating } = installed
  if (!mutating.ok) findings.push({ kind: 'webhooks-unreadable', message: mutating.error.message })
  const uncertain = mutating.ok && mutating.value !== undefined && home === undefined
  if (uncertain) findings.push({ kind: 'own-namespace-unread', namespace })
  const live = installed.configuration.ok ? installed.configuration.value : undefined
  if (!live?.read.ok) {
    findings.push({ kind: 'default-configuration', live: live ? 'invalid' : 'missing or may not be read' })
  }
  const isPod = kind.kind === 'Pod'
  const asked = {
    ...circumstancesOf({ object, kind, namespace }, { installed, version, home }),
    made: isPod ? madeOf(object as V1Pod) : undefined,
    // Without its namespace's labels nobody knows who is called for it.
    mutating: mutating.ok && !uncertain ? mutating.value : 'unreadable',
    validating: validating.ok ? validating.value : undefined,
  } as const
  const { pod } = asked
  const explained = explain(asked)
  const { workloads } = installed
  const shown = workloads.ok && authorIsWarned({ kind: kind.kind, object, pod }, workloads.value, asked.namespace)
  const isWarned = explained.some((finding) => finding.kind === 'admission-warning')
  findings.push(
    ...explained,
    ...(!isPod && isWarned && workloads.ok ? [{ kind: 'unseen-warnings', shown } as const] : []),
    ...(isPod
      ? await started(object as V1Pod, asked, objects, now)
      : [
          ...(await creationFindings(objects, kind, object)),
          ...(await workloadFindings(object, {
            objects,
            now,
            kind: kind.kind,
            sidecars: sidecarsToday(asked),
            verdict: (pod) => verdictOn({ ...asked, ...podIn(pod) }),
          })),
        ]),
    ...misplacedKeys(kind.kind, object, pod, kind.template).map(
      (warning) => ({ kind: 'admission-warning', warning }) as const,
    ),
  )
  const placed = (finding: Finding): Finding =>
    finding.kind === 'admission-warning'
      ? { ...finding, path: pathOf(finding.warning, kind.template, pod as Json) }
      : finding
  return findings.map((finding) => told(placed(finding)))
}

const madeOf = (pod: V1Pod) => ({
  created: createdOf(pod),
  renew: renewal(ownerOf(pod), [pod.metadata?.name ?? '']),
})

/** What a pod of a workload has for itself, where it was asked about the workload. */
const podIn = (pod: V1Pod) => ({
  pod: pod as Circumstances['pod'],
  made: madeOf(pod),
  surroundings: podKind.surroundings,
})

/** How a pod really started, whoever created it. */
async function started(pod: V1Pod, asked: Circumstances, objects: Objects, now: () => number): Promise<Finding[]> {
  const seen = await observe(objects, pod, now)
  return startFindings(seen, judge(seen, sidecarsToday(asked)))
}
