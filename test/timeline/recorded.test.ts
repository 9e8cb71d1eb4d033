import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { drawTimeline } from '../../src/timeline/draw.ts'
import { timelineOf } from '../../src/timeline/timeline.ts'
import { waitedFor } from '../../src/timeline/waits.ts'

const folder = join(import.meta.dirname, 'recorded')
const names = readdirSync(folder).filter((name) => name.endsWith('.json'))

/** Recorded from a real node (1.36.3), without the fields that nobody reads: `{pod, events}`; beside it, what a person sees. */
describe('recorded pods', () => {
  for (const name of names) {
    test(name, () => {
      const { pod, events } = JSON.parse(readFileSync(join(folder, name), 'utf8'))
      const draw = (seen: []) => {
        const timeline = timelineOf(pod, seen, Date.parse(pod.metadata.creationTimestamp) + 12_000)
        return drawTimeline(timeline, waitedFor(timeline, pod), {
          width: 110,
          color: false,
          unicode: true,
          terminal: false,
        })
      }
      const text = `${draw(events)}\nwithout events\n\n${draw([])}`
      const golden = join(folder, name.replace('.json', '.txt'))
      if (process.env.UPDATE_GOLDEN) writeFileSync(golden, text)
      assert.equal(text, readFileSync(golden, 'utf8'))
    })
  }

  test('have no stale picture', () => {
    const pictures = readdirSync(folder).filter((name) => name.endsWith('.txt'))
    assert.deepEqual(
      pictures.filter((name) => !names.includes(name.replace('.txt', '.json'))),
      [],
    )
  })
})
