import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { preview, previewResult } from '../../src/preview/preview.ts'

const configuration = defaultConfiguration('0.0.0')

/** A pod of `app` with the sidecars `one`, then `two`, of which some have a preStop. */
function ending(gate: 'hook' | 'native', preStops: readonly string[], kind = 'Pod') {
  const container = (name: string) => ({
    name,
    ...(name !== 'app' && { readinessProbe: { tcpSocket: { port: 1 } } }),
    ...(preStops.includes(name) && { lifecycle: { preStop: { sleep: { seconds: 1 } } } }),
  })
  const annotations = { 'sidecar-first.dev/sidecars': 'one, two', 'sidecar-first.dev/gate': gate }
  const pod = { metadata: { annotations }, spec: { containers: ['app', 'two', 'one'].map(container) } }
  const object = kind === 'Pod' ? { kind, ...pod } : { kind, spec: { template: pod } }
  const previewed = preview(JSON.stringify(object), configuration)
  assert.ok(previewed.ok)
  return previewed.previews.map((each) => previewResult(each))[0]?.end
}

const names = ['app', 'one', 'two'] as const
const subsets = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => names.filter((_, at) => bits & (1 << at)))

test('each container is told to end when the kubelet tells it', () => {
  for (const gate of ['hook', 'native'] as const) {
    for (const preStops of subsets) {
      const { bars } = ending(gate, preStops) ?? assert.fail()
      const told = (name: string) => {
        const { segments } = bars.find((each) => each.name === name) ?? assert.fail(name)
        return {
          from: segments.find(({ doing }) => doing === 'ending')?.from ?? -1,
          until: segments.at(-1)?.until ?? -1,
        }
      }
      const [app, one, two] = names.map(told)
      assert.equal(app?.from, 0)
      for (const [sidecar, name] of [
        [one, 'one'],
        [two, 'two'],
      ] as const) {
        if (gate === 'hook' || preStops.includes(name)) assert.equal(sidecar?.from, 0, `${gate} ${preStops}`)
        else assert.ok((sidecar?.from ?? 0) >= (app?.until ?? 0), `${gate} ${preStops}`)
      }
      if (gate === 'native') assert.ok((one?.until ?? 0) > (two?.until ?? 0), 'in reverse')
    }
  }
})

test('what an app may miss has a code, and only that', () => {
  for (const preStops of subsets) {
    const codes = (gate: 'hook' | 'native') => ending(gate, preStops)?.messages.map(({ code }) => code)
    const sidecars = preStops.filter((name) => name !== 'app').length
    assert.deepEqual(codes('hook'), sidecars < 2 ? ['SF682'] : [], `${preStops}`)
    assert.deepEqual(codes('native'), sidecars > 0 ? ['SF683'] : [], `${preStops}`)
  }
  assert.match(ending('hook', ['one'])?.messages[0]?.text ?? '', /two and app get SIGTERM together/)
})

test('of a Job that never completes no end is told', () => {
  assert.equal(ending('hook', [], 'Job'), undefined)
  assert.notEqual(ending('native', [], 'Job'), undefined)
})
