import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { drawTimeline } from '../../src/timeline/draw.ts'
import { recordedNames, recordedPod } from '../outcome/recorded.ts'
import { timelineOf } from '../outcome/seen.ts'

const folder = join(import.meta.dirname, 'recorded')
const look = { width: 110, color: false, unicode: true, terminal: false }

/** Of each recorded pod, what a person sees. */
describe('recorded pods', () => {
  for (const name of recordedNames) {
    test(name, () => {
      const seen = recordedPod(name)
      const draw = (more: object) => {
        const timeline = timelineOf({ ...seen, ...more })
        return drawTimeline(timeline, look)
      }
      const text = `${draw({})}\nwithout events\n\n${draw({ events: undefined, node: undefined })}`
      const golden = join(folder, `${name}.txt`)
      if (process.env.UPDATE_GOLDEN) writeFileSync(golden, text)
      assert.equal(text, readFileSync(golden, 'utf8'))
    })
  }

  test('have no stale picture', () => {
    const pictures = readdirSync(folder).map((name) => name.replace('.txt', ''))
    assert.deepEqual(
      pictures.filter((name) => !recordedNames.includes(name)),
      [],
    )
  })
})
