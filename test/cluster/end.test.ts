import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces, kubectl, until } from './cluster.ts'
import { draining, endOf, preStop, proxy } from './ending.ts'
import { hasImageVolumes } from './kubernetes.ts'
import { type Container, getPod, type Line, markOf, pod, shared, sidecar, statusOf } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

const namespace = 'end'
const port = 15_021
const probe = (at: number) => ({ readinessProbe: { httpGet: { path: '/ready', port: at }, periodSeconds: 1 } })
const own = preStop({ exec: { command: ['/entrypoint', 'mark', 'own'] } })

const together = { 'sidecar-first.dev/end': 'together' }
const native = { 'sidecar-first.dev/gate': 'native' }
const grace = (seconds: number) => ({ terminationGracePeriodSeconds: seconds })

type Case = {
  containers: readonly Container[]
  annotations?: Record<string, string>
  spec?: Record<string, unknown>
  /** Until when it isn't deleted; else until it is ready. */
  begun?: (name: string) => Promise<unknown>
  flags?: readonly string[]
  /** What its log must show; the default: it is gone. */
  wants?: (log: readonly Line[]) => void
}

const count = (log: readonly Line[], what: 'answered' | 'failed', container = 'app'): number =>
  markOf(log, container, what)
const allAnswered = (log: readonly Line[], container = 'app') => {
  assert.equal(count(log, 'failed', container), 0, `of ${count(log, 'answered', container)}`)
  assert.ok(count(log, 'answered', container) > 0)
}
/** Each is `container mark`. */
const inOrder = (log: readonly Line[], ...marks: readonly string[]) => {
  const times = marks.map((mark) => {
    const [container = '', what = ''] = mark.split(' ')
    return markOf(log, container, what)
  })
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
    marks.join(', '),
  )
}
const hardened = (user: number) => ({
  securityContext: {
    runAsUser: user,
    runAsNonRoot: true,
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
})
const appEnds = (state: 'terminated' | 'waiting') => (name: string) =>
  until(`the app of ${name} to end`, async () => {
    const pod = await getPod(namespace, name)
    const { state: now, restartCount = 0 } = statusOf(pod, 'app') ?? {}
    return now?.[state] && (state === 'terminated' || restartCount > 0) ? true : undefined
  })

/** As s6 and others do. */
const killsAll =
  "trap '/entrypoint mark asked; kill -TERM -1; kill -HUP -1; sleep 2; /entrypoint mark ended; exit' TERM; while true; do sleep 1 & wait; done"

const cases: Record<string, Case> = {
  'drains: no request is lost': {
    containers: [draining('4s'), proxy()],
    wants: (log) => {
      allAnswered(log)
      inOrder(log, 'app SIGTERM', 'app ended', 'proxy SIGTERM', 'proxy ended')
    },
  },
  'together: most requests are lost without it': {
    containers: [draining('4s'), proxy()],
    annotations: together,
    wants: (log) => assert.ok(count(log, 'failed') > count(log, 'answered')),
  },
  'own-hooks: the app has its own first, the sidecar when the app has ended': {
    containers: [draining('2s', own), proxy(own)],
    wants: (log) => {
      allAnswered(log)
      inOrder(log, 'app own', 'app SIGTERM', 'app ended', 'proxy own', 'proxy SIGTERM')
    },
  },
  'other-hooks: httpGet and sleep': {
    containers: [
      draining('2s', preStop({ sleep: { seconds: 2 } })),
      proxy(preStop({ httpGet: { path: '/hook', port } })),
    ],
    wants: (log) => inOrder(log, 'app ended', 'proxy hook', 'proxy SIGTERM'),
  },
  'native: a native sidecar has its own preStop when the app has ended': {
    containers: [draining('3s'), proxy(own)],
    annotations: native,
    wants: (log) => {
      allAnswered(log)
      inOrder(log, 'app ended', 'proxy own', 'proxy SIGTERM')
    },
  },
  'native-together: and while the app still drains without it': {
    containers: [draining('3s'), proxy(own)],
    annotations: { ...native, ...together },
    wants: (log) => inOrder(log, 'proxy own', 'app ended', 'proxy SIGTERM'),
  },
  'tiers: they end in reverse': {
    containers: [draining('2s'), sidecar('cache', { HTTP: ':15022', LINGER: '2s' }, probe(15_022)), proxy()],
    annotations: { 'sidecar-first.dev/sidecars': 'proxy, cache' },
    wants: (log) => {
      allAnswered(log)
      inOrder(log, 'app ended', 'cache SIGTERM', 'cache ended', 'proxy SIGTERM')
    },
  },
  'two-apps: of 2 s and 6 s': {
    containers: [draining('2s'), draining('6s', {}, 'other'), proxy()],
    wants: (log) => {
      allAnswered(log)
      allAnswered(log, 'other')
    },
  },
  'at-once: an app that ends at once': {
    containers: [draining('0s'), proxy()],
    wants: (log) => inOrder(log, 'app ended', 'proxy SIGTERM'),
  },
  'at-once-native: the same behind a native sidecar': {
    containers: [draining('0s'), proxy()],
    annotations: { ...native, ...together },
    wants: (log) => inOrder(log, 'app ended', 'proxy SIGTERM'),
  },
  'ignores: an app that ignores SIGTERM leaves the sidecar its time': {
    containers: [sidecar('app', { IGNORES: '1' }), proxy(own)],
    spec: grace(7),
    wants: (log) => inOrder(log, 'app SIGTERM', 'proxy own', 'proxy SIGTERM', 'proxy ended'),
  },
  'over: an app that had ended': {
    containers: [sidecar('app', { EXIT_AFTER: '1s' }), proxy(own)],
    spec: { restartPolicy: 'Never' },
    begun: appEnds('terminated'),
    wants: (log) => inOrder(log, 'proxy own', 'proxy SIGTERM', 'proxy ended'),
  },
  'crash-loop: an app in CrashLoopBackOff': {
    containers: [sidecar('app', { EXIT_AFTER: '100ms' }), proxy(own)],
    begun: appEnds('waiting'),
    wants: (log) => inOrder(log, 'proxy own', 'proxy SIGTERM', 'proxy ended'),
  },
  'restricted: users 1000 and 1337, with nothing that they could do without': {
    containers: [draining('2s', hardened(1000)), proxy(hardened(1337))],
    wants: (log) => allAnswered(log),
  },
  'shared-pids: the containers see each other’s processes': {
    containers: [draining('2s'), proxy(own)],
    spec: { shareProcessNamespace: true },
    wants: (log) => allAnswered(log),
  },
  'host-network': {
    containers: [draining('2s', {}, 'app', 15_091), proxy({}, {}, 15_091)],
    spec: { hostNetwork: true },
    wants: (log) => allAnswered(log),
  },
  'kills-all: an init that ends every process that it sees before itself': {
    containers: [
      {
        ...draining('0s'),
        image: 'docker.io/sidecar-first/test-shell:1',
        command: ['sh', '-c', killsAll],
      },
      proxy(),
    ],
    wants: (log) => inOrder(log, 'app asked', 'app ended', 'proxy SIGTERM'),
  },
  'out-of-memory: an app at its limit, in which a hook may not find room': {
    containers: [
      {
        ...draining('0s', { resources: { limits: { memory: '24Mi' } }, ...shared }),
        image: 'docker.io/sidecar-first/test-shell:1',
        command: ['sh', '-c', 'busybox dd if=/dev/zero of=/shared/full bs=1M count=20; exec /entrypoint'],
      },
      proxy(own),
    ],
    spec: { volumes: [{ name: 'shared', emptyDir: { medium: 'Memory' } }] },
    wants: (log) => inOrder(log, 'proxy own', 'proxy SIGTERM', 'proxy ended'),
  },
  'touched: a sidecar with a new image doesn’t wait for an app that goes on, and ends after it later': {
    containers: [draining('2s'), proxy()],
    begun: async (name) => {
      await ready(name)
      await kubectl('set', 'image', `pod/${name}`, 'proxy=docker.io/sidecar-first/test-shell:1', '-n', namespace)
      await until('the new sidecar', async () => {
        const { restartCount = 0, state } = statusOf(await getPod(namespace, name), 'proxy') ?? {}
        return restartCount > 0 && state?.running ? true : undefined
      })
      await ready(name)
      assert.equal(statusOf(await getPod(namespace, name), 'app')?.restartCount, 0)
    },
    wants: (log) => allAnswered(log),
  },
  'grace-0': { containers: [draining('2s'), proxy(own)], flags: ['--grace-period=0', '--force'] },
  'grace-1': { containers: [draining('2s'), proxy(own)], spec: grace(1) },
  'grace-3': { containers: [draining('2s'), proxy(own)], spec: grace(3) },
  'grace-5: what it drains in its share is not lost': {
    containers: [draining('1s'), proxy(own)],
    spec: grace(5),
    wants: (log) => {
      allAnswered(log)
      inOrder(log, 'app ended', 'proxy own', 'proxy SIGTERM')
    },
  },
}
const nameOf = (title: string) => title.split(':')[0] ?? ''
const ready = (name: string) =>
  kubectl('wait', '--for=condition=Ready', `pod/${name}`, '-n', namespace, '--timeout=180s')

// The kubelet runs no preStop once the grace period is over, and that of all containers at once.
const describeEnds = hasImageVolumes ? describe : () => {}
describeEnds('the end of a pod', { concurrency: 5 }, () => {
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook(namespace)
    await createNamespace(namespace, { test: namespace })
    await create(
      ...Object.entries(cases).map(([title, { containers, annotations, spec }]) =>
        pod(namespace, nameOf(title), containers, {
          annotations: {
            'sidecar-first.dev/sidecars': 'proxy',
            'sidecar-first.dev/waiter': 'image-volume',
            'sidecar-first.dev/end': 'last',
            ...annotations,
          },
          spec: { ...grace(30), ...spec },
        }),
      ),
    )
    await Promise.all(Object.entries(cases).map(([title, { begun = ready }]) => begun(nameOf(title))))
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  for (const [title, { flags = [], wants }] of Object.entries(cases)) {
    test(title, async (t) => {
      const name = nameOf(title)
      const { log, ms } = await endOf(namespace, name, ...flags)
      t.diagnostic(`${name}: gone ${ms} ms after its deletion`)
      t.diagnostic(log.map(({ container, text }) => `${container}: ${text}`).join('\n'))
      wants?.(log)
    })
  }
})
