import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { objectKeys } from '../../src/kubernetes/names.ts'
import { type Fate, type Passing, startProxy } from '../apiserver/proxy.ts'
import { SECOND, until } from '../until.ts'
import { clear, createConfigurations, healthy, long, mintings, sharedServer, start } from './fixture.ts'

const lifetimes = { ...long, settle: 200 }
const isLease = ({ path }: Passing) => path.includes('/leases')

/** From nothing to a first certificate, and through a rotation of the CA, with one call struck; how many calls there were. */
async function throughAll(
  t: TestContext,
  { shared, struck, fate }: { shared: ReturnType<typeof sharedServer>; struck: number; fate: Fate },
): Promise<number> {
  let calls = 0
  const proxy = await startProxy(shared.api, (call) => {
    if (isLease(call) || call.watches) return 'pass' // a watch is only a hint
    return calls++ === struck ? fate : 'pass'
  })
  const keeper = start(t, shared.api, { server: proxy.url, lifetimes, callTimeout: 500 })
  try {
    await shared.heal(20 * SECOND)
    await until('the wish for a rotation', 5 * SECOND, async () => {
      const { secret } = await shared.admin.now()
      const annotations = { [objectKeys.rotate]: 'ca' }
      const write = secret && shared.admin.cluster.updateSecret(secret.version, { data: {}, annotations })
      return await write?.then(() => true).catch(() => false)
    })
    await until('the second CA in its place', 20 * SECOND, async () => {
      const now = await shared.admin.now()
      return now.secret?.data['old-ca.crt'] !== undefined && healthy(now)
    })
    assert.equal(mintings(proxy), 2, keeper.lines.join('\n'))
    return calls
  } finally {
    await keeper.stop()
    await proxy.stop()
  }
}

// Some 70 runs of each, which mostly wait: on an API server of its own they needn't wait for each other.
describe('each call to the API server meets once with a fault: two CAs are made, one for each wish', {
  concurrency: true,
}, () => {
  for (const fate of [403, 409, 500, 'hang', 'lose'] as const) {
    describe(`${fate}`, () => {
      const own = sharedServer()
      test('every call, one after the other', { timeout: 1_200_000 }, async (t) => {
        const calls = await throughAll(t, { shared: own, struck: -1, fate: 'pass' })
        for (let struck = 0; struck < calls; struck++) {
          await clear(own.api)
          await createConfigurations(own.api)
          await throughAll(t, { shared: own, struck, fate }).catch((error) => {
            throw new Error(`call ${struck} met with ${fate}`, { cause: error })
          })
        }
        console.log(`${calls} runs, in each of which one call met with ${fate}`)
      })
    })
  }
})
