import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { createInFlight } from '../../src/server/in-flight.ts'
import { heldBytes, keptBytes } from '../heap.ts'

const response = {} as ServerResponse

test('workloads give way to pods, and never the other way round', () => {
  const inFlight = createInFlight({ requests: 2, bytes: 100 })
  const gone: string[] = []
  const enter = (name: string, yields: boolean, client = 'one') =>
    inFlight.enter(client, response, () => gone.push(name), yields)
  // The client of the pod holds most, and would have to give way.
  assert.ok(enter('pod', false, 'proxy'))
  assert.ok(enter('workload', true))
  assert.ok(enter('second pod', false, 'proxy'))
  assert.deepEqual(gone, ['workload'])
  assert.equal(enter('another workload', true), undefined)
  assert.deepEqual(gone, ['workload'], 'a pod gave way to a workload')
})

test('bytes are given back by workloads first, and by the workload itself that needs more', () => {
  const inFlight = createInFlight({ requests: 9, bytes: 100 })
  const gone: string[] = []
  const place = (name: string, yields: boolean) => {
    const giveWay = () => gone.push(name)
    const held = inFlight.enter('one', response, giveWay, yields)
    return (bytes: number) => held?.hold(bytes, giveWay)
  }
  const [pod, workload] = [place('pod', false), place('workload', true)]
  pod(60)
  workload(60)
  assert.deepEqual(gone, ['workload'])
})

test('a request that has left is not kept until V8 next looks through all of its heap', () => {
  const inFlight = createInFlight({ requests: 9, bytes: 100 })
  const enter = () => {
    const request = { kilobytes: Array(1024).fill(0) }
    const place = inFlight.enter('one', request as unknown as ServerResponse, () => request)
    place?.hold(1, () => request)
    return place
  }
  // What is there stays, and is old from here on.
  const before = heldBytes()
  let last = enter()
  for (let each = 0; each < 4000; each++) {
    const next = enter()
    last?.leave()
    last = next
    if (each % 40 === 0) keptBytes()
  }
  const kept = keptBytes() - before
  assert.ok(kept < 4 * 1024 * 1024, `${Math.round(kept / 1024)} KiB are kept of 32,000`)
})
