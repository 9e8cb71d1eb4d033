import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoreV1Event } from '@kubernetes/client-node'
import type { Seen } from '../../src/outcome/outcome.ts'
import { asEvents, keptEvent, reduced, restored } from '../../src/starts/kept.ts'
import { startOf, subjectOf } from '../../src/starts/start.ts'
import { recordedNames, recordedPod } from '../outcome/recorded.ts'

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
      const subject = subjectOf(seen.pod)
      if (!subject) return
      const failed = new Set<string>()
      const whole = startOf({ ...seen, failed }, subject.sidecars)
      const kept = {
        pod: restored(reduced(seen.pod)),
        events: seen.events?.flatMap((event) => keptEvent(event) ?? []).flatMap(asEvents),
        node: seen.node?.flatMap((event) => keptEvent(event) ?? []).flatMap(asEvents),
      }
      assert.deepEqual(startOf({ ...kept, now: seen.now, failed }, subject.sidecars), whole)
    })
  }
})
