import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { preview, previewResult } from '../../src/preview/preview.ts'

const configuration = defaultConfiguration('0.0.0')

/** A pod of `app` with the sidecars `one`, then `two`, of which some have a preStop. */
function ending(gate: 'hook' | 'native', preStops: readonly string[], kind = 'Pod', end = 'together') {
  const container = (name: string) => ({
    name,
    ...(name !== 'app' && { readinessProbe: { tcpSocket: { port: 1 } } }),
    ...(preStops.includes(name) && { lifecycle: { preStop: { sleep: { seconds: 1 } } } }),
  })
  const annotations = {
    'sidecar-first.dev/sidecars': 'one, two',
    'sidecar-first.dev/gate': gate,
    'sidecar-first.dev/end': end,
  }
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

test('with end: last every sidecar, and its preStop, ends after what is behind it, and nothing is missed', () => {
  for (const gate of ['hook', 'native'] as const) {
    for (const preStops of subsets) {
      const { bars, messages } = ending(gate, preStops, 'Pod', 'last') ?? assert.fail()
      assert.deepEqual(messages, [], `${gate} ${preStops}`)
      const [app, one, two] = names.map((name) => {
        const { segments, note } = bars.find((each) => each.name === name) ?? assert.fail(name)
        const over = segments.find(({ doing }) => doing === 'ending') ?? assert.fail(name)
        assert.ok(
          segments.every((each, at) => each.from === (segments[at - 1]?.until ?? 0)),
          'without a gap',
        )
        return { from: over.from, until: over.until, note }
      })
      assert.ok(app && one && two)
      assert.ok(app.from === 0 && two.from >= app.until, `${gate} ${preStops}`)
      // The kubelet ends a native sidecar without a preStop before the one in front of it, whose preStop doesn't wait for that.
      const isSeen = gate === 'hook' || preStops.includes('two')
      assert.ok(one.from >= (isSeen ? two.until : app.until) && one.until > two.until, `${gate} ${preStops}`)
      if (gate === 'hook') assert.match(one.note, /^(?:its preStop )?after app and two$/)
    }
  }
})

test('of a Job that never completes no end is told', () => {
  assert.equal(ending('hook', [], 'Job'), undefined)
  assert.notEqual(ending('native', [], 'Job'), undefined)
})
