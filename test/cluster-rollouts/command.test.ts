import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import type { RolloutStatus, SidecarRollout } from '../../rollouts/types.ts'
import { told } from '../../src/check/findings.ts'
import { rollouts } from '../../src/check/installation/rollouts.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { objects } from '../../src/kubernetes/objects.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { installKind, rollout, shopDeployment, shopPods, startRollout } from '../rollouts/client/cluster-fixture.ts'
import { type Controller, startController } from '../rollouts/client/controller.ts'
import { SECOND, until } from '../until.ts'
import { type FakeKubelet, startFakeKubelet } from './fake-kubelet.ts'

let api: ApiServer
let kubelet: FakeKubelet
let admin: string
before(async () => {
  api = await startApiServer()
  admin = api.kubeconfigFile('admin')
  kubelet = startFakeKubelet(api.kubeconfig('admin'))
})
after(async () => {
  await kubelet?.stop()
  await api?.stop()
})

const command = (...args: string[]) => rollout(admin, ...args)
const envoy = ['--selector', 'app=shop', '--container', 'envoy']
const read = async (name = 'shop-envoy'): Promise<SidecarRollout> =>
  JSON.parse(await api.kubectl(['get', 'sidecarrollout', name, '-o', 'json']))

/** What a controller would report; none runs here. */
async function report(status: Partial<RolloutStatus>, message = 'as a test says', name = 'shop-envoy') {
  const { metadata, status: before } = await read(name)
  const time = new Date().toISOString().replace(/\.\d+/, '')
  const condition = { type: 'Progressing', status: 'True', reason: 'Updating', message, lastTransitionTime: time }
  const base = { observedGeneration: metadata.generation, since: time, matched: 4, desired: 4, updated: 0, ready: 4 }
  const body = { ...base, updatedReady: 0, inProgress: 0, ...before, ...status, conditions: [condition] }
  const now = { ...body, observedGeneration: metadata.generation }
  await api.kubectl([
    'patch',
    'scr',
    name,
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status: now }),
  ])
}

test('without the kind it says how to install it', async () => {
  for (const args of [
    ['status'],
    ['status', 'some'],
    ['start', ...envoy, '--image', 'example/envoy:2.1'],
    ['pause', 'some'],
  ]) {
    const { code, out } = await command(...args)
    assert.equal(code, 1, out)
    assert.match(
      out,
      /does not know SidecarRollout yet; install it and its controller: sidecar-first install --rollouts/,
    )
  }
  await installKind(api)
})

test('start says what it matches, and creates nothing where that is nothing', async () => {
  const none = await command('start', ...envoy, '--image', 'example/envoy:2.1')
  assert.deepEqual(
    [none.code, none.out],
    [1, 'sidecar-first rollout: SF008 no pod in namespace default matches app=shop\n'],
  )

  const items = shopPods(4)
  await api.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  await until('four pods that run', 20 * SECOND, async () => {
    const phases = await api.kubectl(['get', 'pods', '-o', 'jsonpath={.items[*].status.phase}'])
    return phases.split(' ').filter((phase) => phase === 'Running').length === 4
  })
  const other = await command('start', '--selector', 'app=shop', '--container', 'envoi', '--image', 'example/envoy:2.1')
  assert.equal(other.code, 1)
  assert.match(other.out, /none of the 4 pods that match app=shop has a container envoi; they have .*envoy/)
  assert.match((await command('status')).out, /SF802 there are no rollouts in namespace default/)
})

test('start creates it as the schema has it, and says when no controller runs', async () => {
  const image = ['--image', 'example/envoy:2.1']
  const { code, out } = await command('start', ...envoy, ...image, '--partition', '50%', '--on-failure', 'rollback')
  assert.equal(code, 0, out)
  assert.match(
    out,
    /sidecarrollout\/shop-envoy created: example\/envoy:2\.1 for 4 pods, maxUnavailable 1, partition 50%/,
  )
  assert.match(out, /no controller runs in this cluster: sidecar-first install --rollouts/)
  const { spec } = await read()
  assert.deepEqual(spec.strategy, {
    partition: '50%',
    maxUnavailable: 1,
    minReadySeconds: 10,
    bakeSeconds: 60,
    progressDeadlineSeconds: 300,
    onFailure: 'rollback',
    judge: 'Pod',
    paused: false,
    maxFailures: 0,
    rest: 'base',
  })
})

test('start with the claim of another is refused by name; the same one takes a new image', async () => {
  const claimed = await command('start', ...envoy, '--name', 'second', '--image', 'example/envoy:2.2')
  assert.equal(claimed.code, 1)
  assert.match(claimed.out, /the rollout shop-envoy already upgrades envoy of app=shop; .*start --name shop-envoy/)
  const overlapping = await command(
    'start',
    '--selector',
    'app',
    '--container',
    'envoy',
    '--image',
    'example/envoy:2.2',
  )
  assert.match(overlapping.out, /the rollout shop-envoy already upgrades envoy of app=shop; delete that one first/)
  const named = await command(
    'start',
    '--selector',
    'app',
    '--container',
    'app',
    '--name',
    'shop-envoy',
    '--image',
    'a:1',
  )
  assert.match(named.out, /the rollout shop-envoy already exists, for envoy of app=shop; .*another --name/)

  await command('pause', 'shop-envoy')
  const again = await command('start', ...envoy, '--image', 'example/envoy:2.2', '--min-ready-seconds', '1')
  assert.match(again.out, /shop-envoy changed: example\/envoy:2\.1 becomes example\/envoy:2\.2/)
  const { spec } = await read()
  assert.deepEqual([spec.strategy.partition, spec.strategy.onFailure, spec.strategy.paused], [0, 'pause', false])
})

test('pause, resume, promote and undo change what they say, and say when nothing changes', async () => {
  const step = async (...args: string[]) => {
    const { code, out } = await command(...args)
    assert.equal(code, 0, out)
    const { paused, partition } = (await read()).spec.strategy
    return { out, paused, partition }
  }
  const paused = await step('pause', 'shop-envoy')
  assert.equal(paused.paused, true)
  assert.match(paused.out, /shop-envoy is paused/)
  assert.match((await step('pause', 'shop-envoy')).out, /is unchanged: it already is paused/)
  assert.match(
    (await step('promote', 'shop-envoy', '--partition', '25%')).out,
    /to partition 25%; the rollout is paused, resume it/,
  )
  assert.equal((await step('resume', 'shop-envoy')).paused, false)
  assert.equal((await step('promote', 'shop-envoy')).partition, 0)
  assert.equal((await step('undo', 'shop-envoy')).partition, '100%')
  assert.equal((await step('promote', 'shop-envoy')).partition, 0)

  const missing = await command('pause', 'shop')
  assert.deepEqual(
    [missing.code, missing.out.includes('no rollout "shop" in namespace default; it has shop-envoy')],
    [1, true],
  )
})

test('resume tries again what a failure has stopped: only a changed spec is a new attempt', async () => {
  await report({ phase: 'Stopped' })
  const { metadata } = await read()
  await command('resume', 'shop-envoy')
  const after = await read()
  assert.ok(after.metadata.generation > metadata.generation)
  assert.equal(after.spec.strategy.paused, false)
})

test('status shows one and all, for people and programs, and fails where the rollout has', async () => {
  await report({ phase: 'Progressing' }, 'updating')
  const one = await command('status', 'shop-envoy')
  assert.equal(one.code, 0, one.out)
  assert.match(one.out, /^shop-envoy: envoy of app=shop to example\/envoy:2\.2$/m)
  assert.match(one.out, /4 old$/m)
  assert.match(one.out, /^ {2}shop-0 +node-0 +old/m)
  assert.match(
    (await command('status')).out,
    /^shop-envoy +envoy +example\/envoy:2\.2 +0 +0 +0 +4 +Progressing: updating$/m,
  )
  const { counts, pods } = JSON.parse((await command('status', 'shop-envoy', '-o', 'json')).out)
  assert.deepEqual([counts.old, pods.length], [4, 4])

  const failure = {
    reason: 'HookFailed',
    pod: 'shop-1',
    message: 'not ready',
    generation: 1,
    time: '2026-01-01T00:00:00Z',
  } as const
  await report({ phase: 'Stopped', failure })
  const failed = await command('status', 'shop-envoy')
  assert.equal(failed.code, 1)
  assert.match(failed.out, /Stopped: HookFailed \(shop-1\): not ready/)
})

test("who may see rollouts alone sees the controller's counts, and is told what else is forbidden", async () => {
  await api.kubectl(['create', 'role', 'looks', '--verb=get,list', '--resource=sidecarrollouts.sidecar-first.dev'])
  const account = '--serviceaccount=sidecar-first:sidecar-first-certs'
  await api.kubectl(['create', 'rolebinding', 'looks', '--role=looks', account])
  const other = api.kubeconfigFile('certs')
  await report({ phase: 'Progressing', updated: 1, updatedReady: 1 })
  const seen = await rollout(other, 'status', 'shop-envoy')
  assert.equal(seen.code, 0, seen.out)
  assert.match(seen.out, /1 new, 3 old/)
  assert.doesNotMatch(seen.out, /shop-0/)
  const refused = await rollout(other, 'pause', 'shop-envoy')
  assert.equal(refused.code, 1)
  assert.match(refused.out, /403 .*cannot patch resource "sidecarrollouts"/)
})

test('--wait tells each change on a line, and its end by the exit code', async () => {
  await command('resume', 'shop-envoy')
  await report({ phase: 'Progressing', updated: 0, updatedReady: 0 }, 'updating')
  const watched = startRollout(admin, 'status', 'shop-envoy', '--wait')
  const said = (what: RegExp) =>
    until(`${what}, not ${watched.out()}`, 20 * SECOND, async () => what.test(watched.out()))
  await said(/shop-envoy: Progressing: updating \[4 old\]/)
  await touch('shop-2')
  await said(/shop-envoy: shop-2 on node-2: new after \d+s/)
  await report({ phase: 'Complete', updated: 1, updatedReady: 1 }, 'all are done')
  const [code] = await once(watched.process, 'close')
  assert.equal(code, 0, watched.out())
  assert.match(watched.out(), /Complete: all are done \[1 new, 3 old\]\n$/)

  await report({
    phase: 'RolledBack',
    failure: { reason: 'Crashed', pod: 'shop-2', message: 'OOM', generation: 1, time: '2026-01-01T00:00:00Z' },
  })
  const failed = await command('status', 'shop-envoy', '--wait')
  assert.equal(failed.code, 1)
  assert.match(failed.out, /RolledBack: Crashed \(shop-2\): OOM/)
  assert.doesNotMatch(failed.out, /rollout undo/, 'nothing is left to take back')
})

test('Ctrl-C and --timeout end the view and not the rollout, and say how to pause it', async () => {
  await command('resume', 'shop-envoy')
  await report({ phase: 'Progressing' }, 'updating')
  const watched = startRollout(admin, 'status', 'shop-envoy', '--wait')
  await until('its first line', 20 * SECOND, async () => watched.out().includes('Progressing'))
  watched.process.kill('SIGINT')
  const [code] = await once(watched.process, 'close')
  assert.equal(code, 1)
  assert.match(
    watched.out(),
    /SF010 interrupted\. The rollout continues\. Pause it: sidecar-first rollout pause -n default shop-envoy/,
  )
  const late = await command('status', 'shop-envoy', '--wait', '--timeout', '1s')
  assert.equal(late.code, 1)
  assert.match(late.out, /SF010 not done within 1 s\. The rollout continues/)
  assert.equal((await read()).spec.strategy.paused, false)
})

test('a rollout that is deleted while somebody waits', async () => {
  const watched = startRollout(admin, 'status', 'shop-envoy', '--wait')
  await until('its first line', 20 * SECOND, async () => watched.out().includes('Progressing'))
  await api.kubectl(['delete', 'scr', 'shop-envoy'])
  const [code] = await once(watched.process, 'close')
  assert.equal(code, 1)
  assert.match(watched.out(), /the rollout shop-envoy has been deleted/)
})

describe('with the controller', () => {
  let controller: Controller
  before(async () => {
    for (const namespace of ['sidecar-first', 'live']) await api.kubectl(['create', 'namespace', namespace])
    controller = await startController(admin)
    const items = [...shopPods(4, { namespace: 'live' }), shopDeployment('live')]
    await api.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  })
  after(() => controller?.stop())

  // The timeout is there to end a broken test.
  const wait = ['--wait', '--timeout', '180s']
  const live = (...args: string[]) => command(...args, '-n', 'live')
  const images = async () =>
    (
      await api.kubectl([
        'get',
        'pods',
        '-n',
        'live',
        '-l',
        'app=shop',
        '-o',
        'jsonpath={.items[*].spec.containers[0].image}',
      ])
    )
      .split(' ')
      .map((image) => image.replace('example/envoy:', ''))
      .sort()
  const quick = ['--min-ready-seconds', '0', '--bake-seconds', '0']
  const start = (image: string, ...more: string[]) =>
    live('start', ...envoy, '--image', image, ...quick, '--max-unavailable', '2', ...more, ...wait)
  const drift = () =>
    rollouts
      .run({ objects: objects(connection(api.kubeconfig('admin'))), only: undefined })
      .then((findings) => findings.map(told))

  test('half of the pods, then all, then back: each waits and tells which pods it touched', async () => {
    const half = await start('example/envoy:2.1', '--partition', '50%')
    assert.equal(half.code, 0, half.out)
    assert.equal(half.out.match(/shop-\d on node-\d: new after \d+s/g)?.length, 2, half.out)
    assert.match(half.out, /Complete: .*\[2 new, 2 old \(2 stay\)\]\n$/)
    assert.deepEqual(await images(), ['2.0', '2.0', '2.1', '2.1'])
    const all = await live('promote', 'shop-envoy', ...wait)
    assert.equal(all.code, 0, all.out)
    assert.match(all.out, /Complete: .*\[4 new\]\n$/)
    assert.deepEqual(await images(), ['2.1', '2.1', '2.1', '2.1'])
    const back = await live('undo', 'shop-envoy', ...wait)
    assert.equal(back.code, 0, back.out)
    assert.match(back.out, /shop-0 on node-0: back on example\/envoy:2\.0 after \d+s/)
    assert.deepEqual(await images(), ['2.0', '2.0', '2.0', '2.0'])
  })

  test('a sidecar whose hook fails: stopped with its words and exit code 1; undo puts it back', async () => {
    const broken = await start('example/envoy:broken')
    assert.equal(broken.code, 1, broken.out)
    assert.match(broken.out, /Stopped: HookFailed \(shop-\d on node-\d\): envoy was not ready after 60s/)
    assert.match(broken.out, /Undo it: sidecar-first rollout undo -n live shop-envoy/)
    assert.ok((await images()).includes('2.0'), 'not all were touched')
    const back = await live('undo', 'shop-envoy', ...wait)
    assert.equal(back.code, 0, back.out)
    assert.deepEqual(await images(), ['2.0', '2.0', '2.0', '2.0'])
  })

  test('check tells the template that would bring the old image back, and a pod that somebody has changed', async () => {
    const started = await start('example/envoy:2.2')
    assert.equal(started.code, 0, started.out)
    const [template] = await drift()
    assert.equal(
      template?.text,
      'Deployment live/shop makes new pods with envoy example/envoy:2.0, and live/shop-envoy says example/envoy:2.2',
    )
    const set = template?.next?.split('   ')[0]?.split(' ').slice(1) ?? []
    await api.kubectl(set)
    assert.deepEqual(
      (await drift()).map(({ level }) => level),
      ['ok'],
    )

    await api.kubectl(['set', 'image', '-n', 'live', 'pod/shop-3', 'envoy=example/envoy:9'])
    await until('the condition', 20 * SECOND, async () => {
      const { status } = JSON.parse(await api.kubectl(['get', 'scr', '-n', 'live', 'shop-envoy', '-o', 'json']))
      const found = status.conditions.find(({ type }: { type: string }) => type === 'Superseded')
      return found?.message.includes('shop-3')
    })
    assert.deepEqual(
      (await drift()).map(({ level }) => level),
      ['ok'],
      'nobody is advised to go back from an image that is not ours',
    )
  })

  test('undo goes back to what was complete last, and --to-origin to what each pod had at first', async () => {
    const back = await live('undo', 'shop-envoy', ...wait)
    assert.equal(back.code, 0, back.out)
    assert.match(back.out, /puts each pod back to the image it had/)
    assert.deepEqual(await images(), ['2.0', '2.0', '2.0', '9'])
    const third = await start('example/envoy:2.3')
    assert.equal(third.code, 0, third.out)
    const fourth = await start('example/envoy:2.4')
    assert.equal(fourth.code, 0, fourth.out)
    const undone = await live('undo', 'shop-envoy', ...wait)
    assert.match(undone.out, /goes back to example\/envoy:2\.3, partition 0/)
    assert.deepEqual(await images(), ['2.3', '2.3', '2.3', '9'])
    const origin = await live('undo', 'shop-envoy', '--to-origin', ...wait)
    assert.equal(origin.code, 0, origin.out)
    assert.deepEqual(await images(), ['2.0', '2.0', '2.0', '9'])
  })

  test('finish refuses while a template would bring the old image back, names it, and deletes the rollout alone', async () => {
    const started = await start('example/envoy:2.5')
    assert.equal(started.code, 0, started.out)
    await api.kubectl(['set', 'image', '-n', 'live', 'deployment/shop', 'envoy=example/envoy:2.0'])
    const refused = await live('finish', 'shop-envoy')
    assert.equal(refused.code, 1, refused.out)
    assert.match(refused.out, /kubectl set image -n live deployment\/shop envoy=example\/envoy:2\.5/)
    await api.kubectl(['set', 'image', '-n', 'live', 'deployment/shop', 'envoy=example/envoy:2.5'])
    const before = await images()
    const finished = await live('finish', 'shop-envoy')
    assert.equal(finished.code, 0, finished.out)
    assert.match((await live('status')).out, /SF802 there are no rollouts in namespace live/)
    assert.deepEqual(await images(), before)
  })
})

/** As the controller does it: the image, and the note of it. */
async function touch(name: string) {
  const pod = JSON.parse(await api.kubectl(['get', 'pod', name, '-o', 'json']))
  const { metadata } = await read()
  const before = pod.status.containerStatuses.find((one: { name: string }) => one.name === 'envoy')
  const note = {
    rollout: metadata.uid,
    revision: metadata.generation,
    from: 'example/envoy:2.0',
    wanted: 'example/envoy:2.2',
    base: 'example/envoy:2.0',
    back: false,
    gen: pod.metadata.generation + 1,
    ids: [before.containerID],
    images: [before.imageID],
    at: new Date().toISOString(),
  }
  const patch = {
    metadata: { annotations: { 'rollout.sidecar-first.dev/envoy': JSON.stringify(note) } },
    spec: { containers: [{ name: 'envoy', image: 'example/envoy:2.2' }] },
  }
  await api.kubectl(['patch', 'pod', name, '-p', JSON.stringify(patch)])
}
