import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces, tryCreate, tryKubectl, until } from './cluster.ts'
import { hasLock } from './kubernetes.ts'
import {
  app,
  type Container,
  firstLineOf,
  getPod,
  late,
  logOf,
  markOf,
  type PodOptions,
  pod,
  sidecar,
  statusOf,
} from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

const namespace = 'enforced'
type Lock = 'on' | 'off'
const locks: readonly Lock[] = hasLock ? ['on', 'off'] : ['off']

/** Which of them concern a pod, its labels say. */
const rules = [
  { name: 'weak', match: { container: 'vault-agent', podSelector: { matchLabels: { by: 'name' } } }, tier: 5 },
  ...locks.flatMap((lock) => [
    // Beside a lock a helper may start in front, so that it is refused for what it could do to the lock.
    ruleOf('name', lock, { container: 'envoy' }, lock === 'on' ? { timeout: '2s', allowNatives: ['helper'] } : {}),
    ruleOf('image', lock, { image: '*/test-sidecar' }),
    ruleOf('kuma', lock, { preset: 'kuma' }, { timeout: '2s', gate: lock === 'on' ? 'hook' : 'native' }),
    ruleOf('late', lock, { container: 'envoy' }),
    ruleOf('vault', lock, { preset: 'vault-agent' }, { check: 'probe' }),
    ruleOf('mesh', lock, { preset: 'istio' }, { check: 'probe', gate: 'native' }),
  ]),
  {
    name: 'all',
    match: { container: '*', podSelector: { matchLabels: { by: 'mesh' } } },
    tier: 20,
    onTimeout: 'continue',
  },
]
function ruleOf(by: string, lock: Lock, match: object, more = {}) {
  const podSelector = { matchLabels: { by, lock } }
  return { name: `${by}-${lock}`, match: { ...match, podSelector }, tier: 10, enforce: true, lock, ...more }
}
const podOf = (by: string, lock: Lock, name: string, containers: readonly Container[], options: PodOptions = {}) =>
  pod(namespace, `${name}-${lock}`, containers, { ...options, labels: { by, lock } })

const hooked = (...command: string[]) => ({ lifecycle: { postStart: { exec: { command } } } })
const mounted = (name: string, mountPath: string) => ({ volumeMounts: [{ name, mountPath }] })
const named = (name: string, script?: string, more = {}): Container => ({ ...app(script, more), name })
const native = (script: string, more = {}) => [named('helper', script, { restartPolicy: 'Always', ...more })]
const pause = named('pause')
const ready = { readinessProbe: { httpGet: { path: '/ready', port: 15_021 } } }
const never = (name = 'envoy', more = {}) => sidecar(name, { HTTP: ':15021', NEVER_READY: '1' }, { ...ready, ...more })
const envoy = { on: never(), off: late('envoy', 15_021) }

const keyEnds = ['1', '1_ENVOY', '1_KUMA_SIDECAR', '1_DAPRD', '1_VAULT_AGENT', '1_ISTIO_PROXY', '1_HELPER'].join(' ')
const open = (folder: string) =>
  `for k in ${keyEnds}; do echo "SIDECAR_FIRST_READY_$k='ready'"; done >${folder}/ready-1`
/** Opens the lock of its own pod by way of another container's process. */
const openFromOutside = `while :; do for p in /proc/[0-9]*; do
  if grep -qs "HOSTNAME=$HOSTNAME" $p/environ; then ${open('$p/root/.sidecar-first-lock')}; fi
done 2>/dev/null; sleep 1; done`
const sharing = [
  ['shares', { shareProcessNamespace: true }],
  ['host-pid', { hostPID: true }],
] as const

const refused = locks.flatMap((lock) => {
  const isLocked = lock === 'on'
  const lists = { 'sidecar-first.dev/sidecars': 'helper', 'check.sidecar-first.dev/helper': 'none' }
  const volumes = ['sidecar-first-lock', 'evil'].map((name) => ({ name, emptyDir: { medium: 'Memory' } }))
  const initContainers = native(`while :; do ${open('/l')}; sleep 1; done`, mounted('sidecar-first-lock', '/l'))
  const long = { ...never(), image: `docker.io/sidecar-first/test-sidecar:${'1'.repeat(500)}` }
  const over = ['/.sidecar-first-lock/.', '/.sidecar-first-lock/ready-1'].map((path, place) => ({
    made: podOf('name', lock, `mounts-over-${place}`, [app(), never('envoy', mounted('evil', path))], {
      spec: { volumes },
    }),
    code: 'SF133',
  }))
  return [
    {
      made: podOf('name', lock, 'istio-proxy', [named('istio-proxy', undefined, hooked('true')), envoy[lock], pause]),
      code: 'SF169',
    },
    {
      made: podOf('name', lock, 'writes', [app(), envoy[lock]], {
        annotations: lists,
        spec: { volumes, initContainers },
      }),
      code: isLocked ? 'SF163' : 'SF169',
    },
    ...sharing.map(([name, spec]) => ({
      made: podOf('name', lock, name, [app(), envoy[lock]], {
        spec: { ...spec, initContainers: native(openFromOutside) },
      }),
      code: isLocked ? 'SF171' : 'SF169',
    })),
    { made: podOf('image', lock, 'long-image', [app(), long]), code: 'SF172' },
    ...(isLocked ? over : []), // otherwise nothing is opened there
  ]
})

const kuma = never('kuma-sidecar', hooked('kuma-dp', 'wait'))
const otherRule = (lock: Lock) => podOf('name', lock, 'weak-rule', [named('vault-agent'), envoy[lock], pause])
const behind = (lock: Lock) =>
  sharing.map(([name, spec]) => podOf('name', lock, `${name}-behind`, [app(), envoy[lock], named('helper')], { spec }))

const held = locks.flatMap((lock) => {
  const others = [
    { made: otherRule(lock), behind: ['vault-agent', 'pause'] },
    ...behind(lock).map((made) => ({ made, behind: ['app', 'helper'] })),
    // A process that an init container leaves behind ends with it.
    ...sharing.map(([name, spec]) => ({
      made: podOf('name', lock, `${name}-before`, [app(), envoy[lock]], {
        spec: { ...spec, initContainers: [named('before', `(${openFromOutside}) & sleep 1`)] },
      }),
      behind: ['app'],
    })),
  ]
  return [{ made: podOf('kuma', lock, 'kuma', [app(), kuma]), behind: ['app'] }, ...(lock === 'on' ? others : [])]
})

const [vault, daprd, proxy] = [late('vault-agent', 8200), late('daprd', 15_022), late('istio-proxy', 15_021)]
const listed = { annotations: { 'sidecar-first.dev/sidecars': 'daprd' } }
const inOrder = [
  { made: otherRule('off'), order: [['envoy'], ['vault-agent', 'pause']] },
  ...behind('off').map((made) => ({ made, order: [['envoy'], ['app', 'helper']] })),
  ...locks.flatMap((lock) => [
    { made: podOf('mesh', lock, 'mesh', [app(), daprd, proxy], listed), order: [['istio-proxy'], ['daprd'], ['app']] },
    { made: podOf('late', lock, 'listed', [app(), daprd, envoy.off], listed), order: [['envoy'], ['daprd'], ['app']] },
    {
      made: podOf('vault', lock, 'vault', [app(), vault], { spec: { shareProcessNamespace: true } }),
      order: [['vault-agent'], ['app']],
    },
  ]),
]

// Pods of hostile authors, and some that only look like theirs. Behind a lock the sidecar never gets ready and is killed after 2 s, so that a lock that
// opens shows. A hook alone opens then; there the sidecar gets ready late, so that an app that is early shows.
describe('an enforced rule', () => {
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook(namespace, { rules: JSON.stringify(rules) })
    await createNamespace(namespace, { test: namespace })
    await create(...[...held, ...inOrder].map(({ made }) => made))
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  for (const { made, code } of refused) {
    test(`refuses ${made.metadata.name}`, async () => {
      const { stderr } = await tryCreate([made])
      const [, why] = /denied the request: .*?(SF\d+)/.exec(stderr) ?? []
      assert.equal(why, code, stderr)
    })
  }

  for (const { made, behind } of held) {
    const { name } = made.metadata
    test(`holds ${name}`, async () => {
      const live = await until('the sidecar to be killed and the others refused', async () => {
        const found = await getPod(namespace, name)
        const waiting = behind.map((each) => statusOf(found, each)?.state.waiting?.reason)
        const isHeld = waiting.every(
          (reason) => reason === 'CreateContainerConfigError' || reason === 'PodInitializing',
        )
        const { initContainerStatuses = [], containerStatuses = [] } = found.status
        const restarts = [...initContainerStatuses, ...containerStatuses].map(({ restartCount }) => restartCount)
        return isHeld && Math.max(...restarts) > 1 ? found : undefined
      })
      for (const each of behind) {
        const { started, restartCount, lastState } = statusOf(live, each) ?? {}
        assert.deepEqual([started, restartCount, lastState], [false, 0, {}], each)
        const { stdout } = await tryKubectl(['logs', '-n', namespace, name, '-c', each])
        assert.equal(stdout, '', `${each} has said nothing`)
      }
    })
  }

  for (const { made, order } of inOrder) {
    const { name } = made.metadata
    test(`starts ${name} in order`, async () => {
      const log = await logOf(namespace, name, order.at(-1)?.at(-1))
      for (const [place, each] of order.entries()) {
        for (const next of order[place + 1] ?? []) {
          const readyAt = Math.max(...each.map((before) => markOf(log, before, 'ready')))
          assert.ok(firstLineOf(log, next) >= readyAt, `${next} waits for ${each}`)
        }
      }
    })
  }
})
