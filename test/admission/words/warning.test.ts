import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Warning } from '../../../src/admission/words/messages.ts'
import { printable } from '../../../src/admission/words/printable.ts'
import { shownWarnings } from '../../../src/admission/words/shown-warnings.ts'
import { app, decided, pod, ready, warningsOf } from '../pods.ts'

test('the worst come first, nothing twice, the rest counted', () => {
  const mixed: Warning[] = [
    { kind: 'idle-key', key: 'd' },
    { kind: 'adds-empty-dir' },
    { kind: 'keeps-own-hook', name: 'a' },
    { kind: 'node-loopback', name: 'b' },
    { kind: 'adds-empty-dir' },
  ]
  assert.deepEqual(
    shownWarnings(mixed).map(({ kind }) => kind),
    ['keeps-own-hook', 'node-loopback', 'adds-empty-dir', 'idle-key'],
  )
  const many = shownWarnings(Array.from({ length: 40 }, (_, i) => ({ kind: 'node-loopback', name: `${i}` })))
  assert.equal(many.length, 15)
  assert.equal(warningsOf({ warnings: many }).at(-1), 'and 26 more warnings')
})

test('a text is one printable line of at most so many characters, not code units', () => {
  assert.equal(printable('a\n\r\tb\u2028c\u202ed\u0085e\ufefff', 99), 'a b c d e f')
  assert.equal(printable('🙂'.repeat(300), 256), `${'🙂'.repeat(255)}…`)
  assert.equal(printable('\ud800x', 9), '\ufffdx')
})

const loopback = { name: 'envoy', readinessProbe: ready }
const cases: readonly [string, Parameters<typeof pod>, RegExp, RegExp | undefined][] = [
  ['a loopback check in a network of its own', [{ sidecars: 'envoy' }, [app, loopback]], /emptyDir/, /hostNetwork/],
  [
    'hostNetwork with a loopback check',
    [{ sidecars: 'envoy' }, [app, loopback], { hostNetwork: true }],
    /hostNetwork.*envoy/,
    undefined,
  ],
  [
    'hostNetwork with another host',
    [{ sidecars: 'envoy', 'check/envoy': 'tcp://10.0.0.1:1' }, [app, loopback], { hostNetwork: true }],
    /emptyDir/,
    /hostNetwork/,
  ],
  [
    'restartPolicy Never',
    [{ sidecars: 'envoy' }, [app, loopback], { restartPolicy: 'Never' }],
    /restartPolicy is Never.*envoy/,
    undefined,
  ],
  [
    'restartPolicy Never without a wait',
    [{ sidecars: 'envoy', 'check/envoy': 'none' }, [app, loopback], { restartPolicy: 'Never' }],
    /^$/,
    /Never/,
  ],
  [
    'an emptyDir that is new',
    [{ sidecars: 'envoy' }, [app, loopback]],
    /emptyDir.*delete-emptydir-data.*safe-to-evict-local-volumes/,
    undefined,
  ],
  [
    'an emptyDir beside another',
    [{ sidecars: 'envoy' }, [app, loopback], { volumes: [{ name: 'a', emptyDir: {} }] }],
    /^$/,
    /emptyDir/,
  ],
  ['an image volume', [{ sidecars: 'envoy', waiter: 'image-volume' }, [app, loopback]], /^$/, /emptyDir/],
  [
    'a port name that changes its owner',
    [
      { sidecars: 'envoy' },
      [
        { ...app, ports: [{ name: 'http', containerPort: 1 }] },
        { ...loopback, ports: [{ name: 'http', containerPort: 2 }] },
      ],
    ],
    /targetPort http now means envoy and no longer app/,
    undefined,
  ],
  [
    'a port name of its own',
    [
      { sidecars: 'envoy' },
      [
        { ...app, ports: [{ name: 'http', containerPort: 1 }] },
        { ...loopback, ports: [{ name: 'admin', containerPort: 2 }] },
      ],
    ],
    /emptyDir/,
    /targetPort/,
  ],
  [
    'a sidecar that is not there',
    [{ sidecars: 'envoy, otel' }, [app, loopback]],
    /names "?otel"?, but no container/,
    undefined,
  ],
  [
    'a per-container key for nobody',
    [{ sidecars: 'envoy', 'check/otel': 'none' }, [app, loopback]],
    /check\.sidecar-first\.dev\/otel/,
    undefined,
  ],
  [
    'the note of a rollout, on a pod that was copied',
    [{ sidecars: 'envoy', 'rollout/envoy': '{}' }, [app, loopback]],
    /emptyDir/,
    /rollout/,
  ],
  [
    'a key of the future',
    [{ sidecars: 'envoy', tomorrow: 'x' }, [app, loopback]],
    /sidecar-first\.dev\/tomorrow/,
    undefined,
  ],
]
for (const [what, args, there, absent] of cases) {
  test(`warned about or not: ${what}`, () => {
    const decision = decided(pod(...args))
    const warnings = warningsOf(decision)
    assert.notEqual(decision.verdict, 'refused')
    if (there.source !== '^$')
      assert.ok(
        warnings.some((text) => there.test(text)),
        warnings.join('\n'),
      )
    if (absent !== undefined) assert.ok(!warnings.some((text) => absent.test(text)), warnings.join('\n'))
  })
}

test('a regular sidecar in a Job is warned about, a native one is not', () => {
  const job = {
    metadata: { ...pod({ sidecars: 'envoy' }, []).metadata, ownerReferences: [{ kind: 'Job', name: 'j' }] },
  }
  const regular = pod({ sidecars: 'envoy' }, [app, loopback])
  const native = pod({ sidecars: 'envoy' }, [app], { initContainers: [{ ...loopback, restartPolicy: 'Always' }] })
  for (const decision of [decided(regular, { job: true }), decided({ ...regular, ...job })]) {
    assert.ok(warningsOf(decision).some((text) => /envoy runs on, so the Job never completes/.test(text)))
  }
  assert.ok(!warningsOf(decided(native, { job: true })).some((text) => /Job/.test(text)))
})
