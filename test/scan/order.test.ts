import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openedBy, unwrap } from '../../src/admission/hook/unwrap.ts'
import { subjectOf } from '../../src/scan/subject.ts'
import { standingToday, todayOf } from '../../src/scan/today.ts'
import { told } from '../../src/scan/words.ts'
import { after, type Container, keyed, type Pod, pod, ready } from '../admission/pods.ts'

type Written = Container & {
  readonly lifecycle?: { readonly postStart: { readonly exec: { readonly command: readonly string[] } } }
  readonly env?: readonly { readonly valueFrom?: { readonly fileKeyRef?: { readonly key: string } } }[]
}

const written = ['cloud-sql-proxy', 'envoy', 'one', 'two'].map((name) => ({ name, image: name, readinessProbe: ready }))

/** When each container starts, where no sidecar is ready at once: a kubelet takes one after the other and waits for its hook. */
function starts(containers: readonly Written[]): (name: string) => { readonly start: number; readonly ready: number } {
  const started = new Map<string, number>()
  const readyAt = (name: string) =>
    (started.get(name) ?? Number.POSITIVE_INFINITY) + 40 - 7 * written.findIndex((each) => each.name === name)
  const opened = new Set<string>()
  let now = 0
  // What is locked it tries again, once it is through.
  for (const { name, lifecycle, env = [] } of containers.flatMap(() => containers)) {
    const locks = env.flatMap(({ valueFrom }) => valueFrom?.fileKeyRef?.key ?? [])
    if (started.has(name) || !locks.every((key) => opened.has(key))) continue
    started.set(name, now)
    const command = lifecycle?.postStart.exec.command
    const hook = command && ({ kind: 'exec', command } as const)
    for (const awaited of unwrap(hook)?.waitsFor ?? []) now = Math.max(now, readyAt(awaited))
    opened.add(openedBy(hook) ?? '')
  }
  return (name) => ({ start: started.get(name) ?? Number.POSITIVE_INFINITY, ready: readyAt(name) })
}

const orders = <T>(all: readonly T[]): readonly (readonly T[])[] =>
  all.length < 2 ? [all] : all.flatMap((one, at) => orders(all.toSpliced(at, 1)).map((others) => [one, ...others]))

test('a sidecar is called guarded only where its apps find it ready, in whatever order the containers of a patched pod stand by now', () => {
  const standings = new Set<string>()
  for (const asked of ['envoy, cloud-sql-proxy', 'envoy + cloud-sql-proxy', 'envoy']) {
    for (const lock of ['on', 'off']) {
      const patched: Pod = after(pod(keyed({ sidecars: asked, lock }), written))
      for (const containers of orders(patched.spec.containers as readonly Written[])) {
        const subject = subjectOf({ ...patched, spec: { ...patched.spec, containers } }) ?? assert.fail()
        const at = starts(containers)
        for (const today of todayOf(subject)) {
          const isReady = ['one', 'two'].every((app) => at(app).start >= at(today.sidecar).ready)
          const standing = standingToday(today)
          const text = `${asked} ${lock} ${containers.map(({ name }) => name)}: ${told(today).text}`
          if (!isReady || lock === 'off') assert.equal(standing, isReady ? 'guarded' : 'unguarded', text)
          standings.add(`${lock} ${today.kind}`)
        }
      }
    }
  }
  assert.deepEqual([...standings].toSorted(), ['off late-hook', 'off ours', 'off unguarded', 'on ours', 'on unguarded'])
})
