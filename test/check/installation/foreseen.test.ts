import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '@kubernetes/client-node'
import { decide } from '../../../src/admission/decide.ts'
import { refusedByRules } from '../../../src/check/installation/pods.ts'
import type { Objects } from '../../../src/kubernetes/objects.ts'
import { alsoTried, walkedAround } from '../../admission/enforced/cases.ts'
import { configuredFor } from '../../admission/enforced/judged.ts'
import { installation, namespace } from '../cluster.ts'

test('an upgrade foresees every running pod that enforcing its rules would refuse, whatever the way around is', async () => {
  const { mutating } = installation('', 'cluster-wide')
  const kinds = new Set<string>()
  for (const { name, rules, pod } of [...walkedAround, ...alsoTried]) {
    const configuration = configuredFor(rules)
    const lax = configuredFor({ ...rules, rules: rules.rules.map(({ enforce, ...rule }) => rule) })
    const decision = decide(pod, configuration)
    if (decision.verdict !== 'refused' || decide(pod, lax).verdict === 'refused') continue
    const objects = { list: async () => [pod as unknown as V1Pod] } as unknown as Objects
    const place = { objects, namespaces: [namespace('team')], progress: () => undefined }
    const found = await refusedByRules(place, configuration, {
      webhooks: mutating.webhooks ?? [],
      former: undefined,
    })
    const why = decision.reasons.map(({ kind }) => kind)
    assert.equal(found.length, 1, `${name}: ${why.join()}`)
    for (const kind of why) kinds.add(kind)
  }
  assert.ok(kinds.size >= 8, [...kinds].join())
})
