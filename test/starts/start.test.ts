import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoreV1Event } from '@kubernetes/client-node'
import { keptEvent, keptPod } from '../../src/starts/kept.ts'
import { countedStart as startOfSeen, startSubjectOf } from '../../src/starts/start.ts'
import { recordedNames, recordedPod } from '../outcome/recorded.ts'
import { type Seen, seenOf } from '../outcome/seen.ts'

const countedStart = ({ failed, ...seen }: Seen & { failed: ReadonlySet<string> }, sidecars: readonly string[]) =>
  startOfSeen({ ...seenOf(seen), failed }, sidecars)

/** What is recorded leaves out which node an event is of. */
function hosted({ events, ...seen }: Seen): Seen {
  const source = { component: 'kubelet', host: seen.pod.spec?.nodeName ?? '' }
  const named = (event: CoreV1Event) => (event.source?.component === 'kubelet' ? { ...event, source } : event)
  return { ...seen, events: events?.map(named), node: seen.node?.map(named) }
}

describe('what the start of a recorded pod counts for', () => {
  for (const name of recordedNames) {
    test(`${name}: as much from what is kept as from everything`, () => {
      const seen = hosted(recordedPod(name))
      const subject = startSubjectOf(seen.pod)
      if (!subject) return
      const failed = new Set<string>()
      const whole = countedStart({ ...seen, failed }, subject.sidecars)
      const kept = {
        pod: JSON.parse(JSON.stringify(keptPod(seen.pod))),
        events: seen.events?.flatMap((event) => keptEvent(event) ?? []),
        node: seen.node?.flatMap((event) => keptEvent(event) ?? []),
      }
      assert.deepEqual(startOfSeen({ ...kept, now: seen.now, failed }, subject.sidecars), whole)
    })
  }
})

test('for whom a recorded pod waited is expected before it starts, and so is how it is held back', () => {
  for (const name of recordedNames) {
    const seen = hosted(recordedPod(name))
    const subject = startSubjectOf({ ...seen.pod, status: {} })
    if (!subject) continue
    const { gate, waits } = countedStart({ ...seen, failed: new Set() }, subject.sidecars)
    assert.equal(gate, subject.gate, name)
    const expected = subject.waits.map(({ gate, sidecar }) => `${gate} ${sidecar}`)
    for (const { gate, sidecar } of waits)
      assert.ok(expected.includes(`${gate} ${sidecar}`), `${name}: ${gate} ${sidecar}`)
    assert.ok(waits.length === 0 || new Set(expected).size === expected.length, name)
  }
})

/** Gate and outcome of the start, what it waited for how long, and before what it began. */
const expected: Readonly<Record<string, string>> = {
  held: 'hook held; 1.59 s ready, 0.519 s ready',
  native: 'hook held; 2.075 s ready',
  'native-startup': 'startup-probe held; 2.802 s ready',
  unlocked: 'lock held; 2.398 s ready',
  'timed-out': 'hook too-early; 2.269 s timed-out; before other (hook)',
  'crashed-once': 'hook too-early; 0.695 s crashed; before other (hook)',
  'kubelet-restarted': 'hook too-early; 13.229 s kubelet-restarted; before other (hook)',
  image: 'hook too-early; ; before other (hook)',
  unpatched: 'none too-early; ; before other (none)',
  'own-hook': 'own-hook unknown; 1.196 s unknown',
  'crash-loop-later': 'hook unknown; 0.346 s unknown',
  'locked-crash-loop': 'lock not-started; ',
  waiting: 'hook not-started; ',
}

describe('the start of a recorded pod counts', () => {
  for (const [name, text] of Object.entries(expected)) {
    test(`${name} as ${text}`, () => {
      const seen = recordedPod(name)
      const subject = startSubjectOf(seen.pod) ?? assert.fail()
      const { gate, outcome, waits, early } = countedStart({ ...seen, failed: new Set() }, subject.sidecars)
      const waited = waits.map(({ seconds, outcome }) => `${seconds} s ${outcome}`)
      const before = early.map(({ gate, sidecar }) => `; before ${sidecar} (${gate})`)
      assert.equal(`${gate} ${outcome}; ${waited.join(', ')}${before.join('')}`, text)
    })
  }

  test('as early before the sidecar that nothing waits for, beside one that is waited for', () => {
    const seen = recordedPod('held')
    const { pod, events } = seen
    const { spec, status } = pod
    const [app] = spec?.containers.slice(-1) ?? []
    const late = { name: 'linkerd-proxy', image: 'proxy' }
    const at = status?.containerStatuses?.find(({ name }) => name === app?.name)?.state?.running?.startedAt
    const startedAt = new Date(new Date(at ?? 0).getTime() + 5000)
    const base = status?.containerStatuses?.[0] ?? assert.fail()
    const containerStatuses = [
      ...(status?.containerStatuses ?? []),
      { ...base, name: late.name, state: { running: { startedAt } } },
    ]
    const more = {
      ...pod,
      spec: { ...spec, containers: [...(spec?.containers ?? []), late] },
      status: { ...status, containerStatuses },
    }
    const { sidecars } = startSubjectOf(more) ?? assert.fail()
    const { gate, early } = countedStart({ ...seen, pod: more, events, failed: new Set() }, sidecars)
    assert.deepEqual([gate, early], ['hook', [{ gate: 'none', sidecar: 'linkerd' }]])
  })

  test('without events: to the second, and what is not known is not guessed', () => {
    const seen = recordedPod('held')
    const subject = startSubjectOf(seen.pod) ?? assert.fail()
    const { outcome, seconds, waits } = countedStart(
      { ...seen, events: undefined, failed: new Set() },
      subject.sidecars,
    )
    assert.deepEqual([outcome, seconds, waits.some(({ exact }) => exact)], ['unknown', undefined, false])
  })

  test('of a pod without sidecars, of one of sidecars alone and of a static one not at all', () => {
    const { pod } = recordedPod('held')
    assert.equal(startSubjectOf(recordedPod('no-sidecars').pod), undefined)
    const gateway = { ...pod, spec: { containers: [{ name: 'istio-proxy', image: 'istio/proxyv2' }] } }
    assert.equal(startSubjectOf(gateway), undefined)
    const annotations = { ...pod.metadata?.annotations, 'kubernetes.io/config.mirror': 'x' }
    assert.equal(startSubjectOf({ ...pod, metadata: { ...pod.metadata, annotations } }), undefined)
  })
})
