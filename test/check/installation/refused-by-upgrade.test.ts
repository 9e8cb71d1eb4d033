import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject, V1Pod } from '@kubernetes/client-node'
import { decide } from '../../../src/admission/decide.ts'
import type { Configuration } from '../../../src/admission/intent/configuration.ts'
import { told } from '../../../src/check/findings.ts'
import { refusedByRules } from '../../../src/check/installation/pods.ts'
import type { Objects } from '../../../src/kubernetes/objects.ts'
import { alsoTried, walkedAround } from '../../admission/enforced/cases.ts'
import { configuredFor } from '../../admission/enforced/judged.ts'
import { installation, namespace } from '../cluster.ts'

const { mutating } = installation('', 'cluster-wide')

/** What is told of a cluster with these objects. */
async function foreseen(configuration: Configuration, found: Readonly<Record<string, readonly KubernetesObject[]>>) {
  const objects = {
    list: async ({ kind }: { kind: string }) => found[kind] ?? [],
    async *items({ kind }: { kind: string }) {
      yield* found[kind] ?? []
    },
  } as unknown as Objects
  const place = { objects, namespaces: [namespace('team')], progress: () => undefined }
  return await refusedByRules(place, configuration, { webhooks: mutating.webhooks ?? [], former: undefined })
}

test('an upgrade foresees every running pod that enforcing its rules would refuse, whatever the way around is', async () => {
  const kinds = new Set<string>()
  for (const { name, rules, pod } of [...walkedAround, ...alsoTried]) {
    const configuration = configuredFor(rules)
    const lax = configuredFor({ ...rules, rules: rules.rules.map(({ enforce, ...rule }) => rule) })
    const decision = decide(pod, configuration)
    if (decision.verdict !== 'refused' || decide(pod, lax).verdict === 'refused') continue
    const found = await foreseen(configuration, { Pod: [pod as unknown as V1Pod] })
    const why = decision.reasons.map(({ kind }) => kind)
    assert.equal(found.length, 1, `${name}: ${why.join()}`)
    for (const kind of why) kinds.add(kind)
  }
  assert.ok(kinds.size >= 8, [...kinds].join())
})

test('an upgrade foresees what becomes of workloads without pods, and tells none twice', async () => {
  const [{ rules, pod } = assert.fail()] = walkedAround.filter(({ rules, pod }) => {
    return decide(pod, configuredFor(rules)).verdict === 'refused'
  })
  const { metadata, spec } = pod as unknown as V1Pod
  const made = (kind: string, name: string, owners: object[] = []) => ({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'team', ownerReferences: owners },
    spec: { template: { metadata, spec } },
  })
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'u', controller: true }
  const findings = await foreseen(configuredFor(rules), {
    Pod: [{ ...(pod as object), metadata: { ...metadata, ownerReferences: [owner] } } as KubernetesObject],
    Deployment: [made('Deployment', 'web'), made('Deployment', 'operated', [owner])],
    StatefulSet: [made('StatefulSet', 'db')],
  } as Record<string, KubernetesObject[]>)
  assert.deepEqual(
    findings.map((each) => told(each).text.replace(/ would be refused.*/, '')),
    ['StatefulSet team/db: 1 of 1 pod', 'pods of Deployment team/web'],
  )
})
