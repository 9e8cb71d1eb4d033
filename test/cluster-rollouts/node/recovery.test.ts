import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { SidecarRollout } from '../../../rollouts/types.ts'
import { createNamespace, deleteNamespaces, kubectl, until } from '../../cluster/cluster.ts'
import { hasImageVolumes } from '../../cluster/kubernetes.ts'
import { type Controller, prepare, startController } from './controller.ts'
import { apps, change, deploy, imageOf, phase, podsOf, rollout, rolloutOf, versions, watchPods } from './shop.ts'

const script = join(import.meta.dirname, '../../../scripts/cluster')
const LEASE = '3s'
const namespaces = ['rollout-killed', 'rollout-killed-back', 'rollout-churn']
const [forward = '', back = '', churn = ''] = namespaces

// One after the other: each kills the controller of all.
describe('a controller that is killed', () => {
  let controller: Controller
  before(async () => {
    await prepare()
    await Promise.all(namespaces.map((name) => createNamespace(name)))
    await Promise.all([deploy(forward, { replicas: 4 }), deploy(back, { replicas: 3 }), deploy(churn, { replicas: 4 })])
    controller = await startController(LEASE)
  })
  after(async () => {
    await controller?.stop()
    await deleteNamespaces(...namespaces)
  })

  /** SIGKILL as soon as the rollout is there, and another controller. */
  async function killWhen(what: string, namespace: string, there: (rollout: SidecarRollout) => boolean) {
    await until(what, async () => (there(await rolloutOf(namespace)) ? true : undefined))
    await controller.kill()
    controller = await startController(LEASE)
  }
  const reason = ({ status }: SidecarRollout) => status?.conditions.find(({ type }) => type === 'Progressing')?.reason

  test('while it fetches, touches, and between pods: the next one goes on, and every pod is touched once', async (t) => {
    const before = await apps(forward)
    const watch = await watchPods(t, forward)
    await rollout(forward)
    await killWhen(
      'the image to be fetched',
      forward,
      (one) => reason(one) === 'FetchingImage' || (one.status?.updated ?? 0) > 0,
    )
    await killWhen('a pod to be in progress', forward, ({ status }) => status?.inProgress === 1)
    await killWhen('two pods to be touched', forward, ({ status }) => (status?.updated ?? 0) >= 2)
    await killWhen('three pods to be done', forward, ({ status }) => (status?.updatedReady ?? 0) >= 3)
    assert.equal((await phase(forward, ['Complete', 'Stopped'])).phase, 'Complete')
    assert.deepEqual(await versions(forward), { v2: 4 })
    const restarts = (await podsOf(forward)).map(({ status }) => {
      const found = status.containerStatuses?.find(({ name }) => name === 'envoy')
      return found && 'restartCount' in found && found.restartCount
    })
    assert.deepEqual(restarts, [1, 1, 1, 1])
    const { failed, mostDown } = await watch.end()
    assert.deepEqual([failed, mostDown], [[], 1])
    assert.deepEqual(await apps(forward), before)
  })

  test('in the middle of a failure and of a rollback: every pod has its image back', async (t) => {
    await rollout(back, { strategy: { maxUnavailable: 3 } })
    await phase(back, ['Complete'])
    const watch = await watchPods(t, back)
    await change(back, { image: imageOf('v3'), strategy: { onFailure: 'rollback', maxUnavailable: 2 } })
    // Where no image can be fetched first, pods go one by one.
    const atOnce = hasImageVolumes ? 2 : 1
    await killWhen('pods to be in progress', back, ({ status }) => status?.inProgress === atOnce)
    await killWhen('the rollback', back, ({ status }) => /^Roll(ingB|edB)ack$/.test(status?.phase ?? ''))
    const status = await phase(back, ['RolledBack', 'Stopped', 'Complete'])
    assert.deepEqual([status.phase, status.failure?.reason], ['RolledBack', 'HookFailed'])
    assert.deepEqual(await versions(back), { v2: 3 })
    const { failed, mostDown } = await watch.end()
    assert.deepEqual([failed, mostDown <= 2], [[], true])
  })

  test('pods scaled up and down and deleted, the API server restarted, all in the middle', async () => {
    const scale = (replicas: number) => kubectl('scale', '-n', churn, 'deploy/shop', `--replicas=${replicas}`)
    await rollout(churn, { strategy: { maxUnavailable: 2 } })
    await until('a pod to be in progress', async () => ((await rolloutOf(churn)).status?.inProgress ? true : undefined))
    await scale(7)
    await kubectl('delete', 'pod', '-n', churn, '--wait=false', (await podsOf(churn))[0]?.metadata.name ?? '')
    await promisify(execFile)(script, ['restart', 'apiserver'])
    await until('the API server', () => scale(5).catch(() => undefined))
    await kubectl('delete', 'pod', '-n', churn, '--wait=false', (await podsOf(churn))[1]?.metadata.name ?? '')
    await until('five pods, all done', async () => {
      const { status } = await rolloutOf(churn)
      if (status?.phase === 'Stopped') throw new Error(JSON.stringify(status.failure))
      return status?.phase === 'Complete' && status.matched === 5 && status.updatedReady === 5 ? true : undefined
    })
    assert.deepEqual(await versions(churn), { v2: 5 })
  })
})
