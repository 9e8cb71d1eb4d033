import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces } from './cluster.ts'
import { app, firstLineOf, getPod, late, logOf, markOf, pod } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

// Two namespaceSelectors that match one namespace: a webhook for each, and one for the rules without.
describe('rules of several webhooks agree on one pod', () => {
  const namespace = 'rules'
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('rules', { rules })
    await createNamespace(namespace, { test: 'rules', team: 'a', stage: 'live' })
    await create(
      pod(namespace, 'regular', [app(), late('everywhere', 15_022), late('live', 15_023), late('team', 15_021)]),
      pod(namespace, 'native', [app(), late('live', 15_023), late('team', 15_021), late('native', 15_024)]),
    )
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  // The general rule is asked first, then those of team and live: every tier comes before one that was there already.
  test('in the order of their tiers, whoever was called first', async () => {
    await assertOneAfterTheOther('regular', ['live', 'team', 'everywhere'])
    const { spec } = await getPod(namespace, 'regular')
    assert.deepEqual(
      spec.containers.map(({ name }) => name),
      ['live', 'team', 'everywhere', 'app'],
    )
  })

  test('on one gate, which is native if any of them says so', async () => {
    await assertOneAfterTheOther('native', ['live', 'team', 'native'])
    const { spec } = await getPod(namespace, 'native')
    assert.deepEqual(
      spec.containers.map(({ name }) => name),
      ['app'],
    )
  })

  async function assertOneAfterTheOther(name: string, sidecars: readonly string[]): Promise<void> {
    const log = await logOf(namespace, name)
    for (const [place, each] of sidecars.entries()) {
      const next = sidecars[place + 1]
      const started = next === undefined ? firstLineOf(log) : markOf(log, next, 'started')
      assert.ok(started >= markOf(log, each, 'ready'), `${next ?? 'the app'} waits for ${each}`)
    }
  }
})

const rules = `
- {name: everywhere, match: {container: everywhere}, tier: 30}
- {name: team, match: {container: team, namespaceSelector: {matchLabels: {team: a}}}, tier: 20}
- {name: live, match: {container: live, namespaceSelector: {matchLabels: {stage: live}}}, tier: 10}
- {name: native, match: {container: native, namespaceSelector: {matchLabels: {stage: live}}}, tier: 40, gate: native}
`
