import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { check } from '../../src/cli/check.ts'
import { timeline } from '../../src/cli/timeline.ts'
import { run } from '../cli/inside.ts'
import { create, createNamespace, deleteNamespaces, type KubernetesObject, until } from './cluster.ts'
import { hasLock } from './kubernetes.ts'
import { app, type Container, pod, podSpec, sidecar } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

type Outcome = { kind: string; reason?: { why: string }; reasons?: { why: string; sidecars: string[] }[] }

const readinessProbe = { httpGet: { path: '/ready', port: 15_021 } }
const one = (env: Record<string, string> = {}, more: object = {}) =>
  sidecar('sidecar', { HTTP: ':15021', ...env }, { readinessProbe, ...more })
/** A probe fails before it is ready, and after the kubelet has turned to the app. */
const often = (env: Record<string, string>) => one(env, { readinessProbe: { ...readinessProbe, periodSeconds: 1 } })
const never = one({ NEVER_READY: '1' })
const absent = one({}, { image: 'docker.io/sidecar-first/test-absent:1' })
const crashes = one({ NEVER_READY: '1', EXIT_AFTER: '500ms' })
const native = { 'sidecar-first.dev/gate': 'native' }
const appsPort = { 'check.sidecar-first.dev/sidecar': 'tcp://:8080' }
const soon = { 'sidecar-first.dev/timeout': '2s' }

type Case = readonly [name: string, sidecar: Container, annotations: object, outcome: string, lacks?: string]

const lock = { 'sidecar-first.dev/lock': 'on' }
const locked: readonly Case[] = [
  ['unlocked', one({ READY_AFTER: '2s' }), lock, 'held'],
  ['unlocked-native', often({ READY_AFTER: '5s' }), { ...lock, ...native }, 'held'],
  ['locked', never, { ...lock, 'sidecar-first.dev/timeout': '10m' }, 'stuck: locked'],
  ['locked-crashed', crashes, lock, 'stuck: crashed'],
]

/** What becomes of each, by name. */
const cases: readonly Case[] = [
  ['held', one({ READY_AFTER: '2s' }), {}, 'held'],
  ['held-native', one({ READY_AFTER: '2s' }), native, 'held'],
  ['timed-out', never, soon, 'too-early: timed-out sidecar', 'crashed'],
  ['continued', never, { ...soon, 'sidecar-first.dev/on-timeout': 'continue' }, 'too-early: timed-out sidecar'],
  ['crashed', crashes, {}, 'too-early: crashed sidecar', 'crashed'],
  ['image', absent, {}, 'too-early: image sidecar', 'image'],
  ['start-failed', one({}, { command: ['/missing'] }), {}, 'too-early: start-failed sidecar', 'start-failed'],
  ['image-native', absent, native, 'stuck: image'],
  ['crashed-native', crashes, native, 'stuck: crashed'],
  ...(hasLock ? locked : []),
  // Both ask a port of the app, which comes after them.
  ['deadlocked', one(), { ...appsPort, 'sidecar-first.dev/timeout': '10m' }, 'stuck: hook'],
  ['deadlocked-native', one(), { ...appsPort, ...native, 'sidecar-first.dev/timeout': '10m' }, 'stuck: hook'],
]

describe('what really happened', () => {
  const namespace = 'outcome'
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('outcome')
    await createNamespace(namespace, { test: 'outcome' })
    await create(
      ...cases.map(([name, member, annotations]) =>
        pod(namespace, name, [app(), member], {
          annotations: { 'sidecar-first.dev/sidecars': 'sidecar', ...annotations },
        }),
      ),
      deployment(namespace, 'together', one({ READY_AFTER: '2s' })),
    )
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  for (const [name, , , outcome, lacks] of cases) {
    test(`${name}: ${outcome}${lacks ? `, and the app is without its sidecar: ${lacks}` : ''}`, async () => {
      const seen = await until(outcome, async () => {
        const { stdout } = await run(timeline, '-n', namespace, `pod/${name}`, '-o', 'json')
        const told = JSON.parse(stdout)
        return line(told.outcome) === outcome && (!lacks || told.lacking.length > 0) ? told : undefined
      })
      assert.deepEqual(
        seen.lacking.map(({ why }: { why: string }) => why),
        lacks ? [lacks] : [],
      )
      const ready = seen.containers.find((each: { name: string }) => each.name === 'sidecar').ready
      assert.equal(ready !== undefined, outcome === 'held')
      const says =
        outcome === 'held'
          ? /^ok its app began after/m
          : lacks
            ? /^problem it runs without/m
            : outcome.startsWith('stuck')
              ? /^problem stuck/m
              : /^warning its app began too early/m
      // Its clock may be a second behind that of the timeline, which has just called it stuck.
      await until(
        `check to say ${says}`,
        async () => {
          const { stdout } = await run(check, '-n', namespace, `pod/${name}`, '-o', 'json')
          const texts = JSON.parse(stdout).findings.map(({ level, text }: Record<string, string>) => `${level} ${text}`)
          return says.test(texts.join('\n')) || undefined
        },
        10_000,
      )
    })
  }

  test('the starts of a Deployment together: the median, the slowest, whom they waited for', async () => {
    const about = async (subject: string, ...flags: string[]) =>
      (await run(timeline, '-n', namespace, subject, ...flags)).stdout
    const { started, waits, pods } = await until('three held starts', async () => {
      const told = JSON.parse(await about('deploy/together', '-o', 'json'))
      return told.outcomes.held === 3 ? told : undefined
    })
    assert.equal(started.of, 3)
    assert.ok(started.median.ms <= started.slowest.ms)
    assert.deepEqual([waits.length, waits[0].for, waits[0].outcome, waits[0].of], [1, ['sidecar'], 'ready', 3])
    assert.match(
      await about('deploy/together'),
      /^outcome\/together {2}Deployment, 3 pods\n3 held .*\n\n(.*▒.*\n){3}[\s\S]*waiting .* \(median\) to .* for sidecar, 3 pods/,
    )
    // The same pods, by their owner's uid.
    const set = pods[0].name.replace(/-[^-]+$/, '')
    assert.match(await about(`rs/${set}`), /ReplicaSet, 3 pods\n3 held/)
    assert.match(await about('deploy/together', '-o', 'html'), /<h1>outcome\/together {2}Deployment, 3 pods<\/h1>/)
    const { code, stderr } = await run(timeline, '-n', namespace, 'sts/together')
    assert.equal(code, 1)
    assert.match(stderr, /there is no statefulset together in namespace outcome/)
  })
})

const deployment = (namespace: string, name: string, member: Container): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name }, annotations: { 'sidecar-first.dev/sidecars': 'sidecar' } },
      spec: podSpec([app(), member]),
    },
  },
})

function line({ kind, reason, reasons }: Outcome): string {
  const why = reason?.why ?? reasons?.map(({ why, sidecars }) => `${why} ${sidecars.join('+')}`).join(', ')
  return why === undefined ? kind : `${kind}: ${why}`
}
