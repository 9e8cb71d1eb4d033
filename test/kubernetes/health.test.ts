import { test } from 'node:test'
import { Registry } from 'prom-client'
import { serveHealth } from '../../src/kubernetes/health.ts'
import { SECOND, until } from '../until.ts'

test('a process that is stopped before it serves still comes to its end', async () => {
  const signal = AbortSignal.abort()
  let served = false
  void serveHealth({ registry: new Registry(), alive: () => true }, { port: 0, signal, lacks: 'lease-not-read' }).then(
    () => {
      served = true
    },
  )
  await until('the end', 10 * SECOND, async () => served)
})
