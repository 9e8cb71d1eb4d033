import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { examine } from '../../src/admission/examine.ts'
import { review, reviewFinal } from '../../src/admission/review.ts'
import { reviewWorkload } from '../../src/admission/workload.ts'
import { catalogue } from '../../src/messages/catalogue.ts'
import { formatJson } from '../../src/preview/json.ts'
import { preview, previewResult } from '../../src/preview/preview.ts'
import { annotations } from '../../src/preview/show/github.ts'
import { sarif } from '../../src/preview/show/sarif.ts'
import { describe as inText } from '../../src/preview/show/text.ts'
import { app, type Container, configuration, type Fields, pod, ready } from '../admission/pods.ts'

/** What a decision shows (src/admission/words/shown-warnings.ts), and what it is chosen from: some hundred of each kind at most. */
const [mostShown, mostCollected] = [15, 1000]

const envoy = { name: 'envoy', readinessProbe: ready }
const numbered = (count: number, key: (index: number) => string): Fields =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [key(index), 'none']))
const keysOf = (container: string) => numbered(4000, (index) => `check/${container}${index}`)
const called = (name: string, more: Fields): Container[] =>
  Array.from({ length: 250 }, (_, index) => ({ name: `${name}${index}`, ...more }))

const waiting = called('app', { command: ['sh', '-c', 'until nc -z localhost 8080; do sleep 1; done; exec app'] })
const sidecars = called('envoy', { readinessProbe: ready })
const listed = sidecars.map(({ name }) => name).join()
/** Each would be warned of thousands of times. */
const pods: Readonly<Record<string, Fields>> = {
  'keys that nobody knows': pod({ sidecars: 'envoy', ...numbered(4000, (index) => `z${index}`) }, [app, envoy]),
  'keys for containers that are not there': pod({ sidecars: 'envoy', ...keysOf('x') }, [app, envoy]),
  'keys of a pod that does not ask': pod(keysOf('x'), [app, envoy]),
  'apps that all wait for the port of all sidecars': pod({ sidecars: listed }, [...waiting, ...sidecars]),
}
const onWorkload = (template: Fields) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'web',
    annotations: pod(
      numbered(10_000, (index) => `y${index}`),
      [],
    ).metadata.annotations,
  },
  spec: { template },
})

/** How many messages each format of `preview` has for some objects. */
function shown(objects: readonly unknown[]) {
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
  const previewed = preview(text, configuration)
  assert.ok(previewed.ok)
  const found = { files: [{ name: 'pods.json', previewed }], problems: [] }
  const look = { width: 100, color: false, unicode: true, terminal: false }
  const results = JSON.parse(formatJson(previewed.previews.map((each) => previewResult(each))))
  return {
    text: inText(found.files, look).match(/^ +[!·] SF\d{3} /gm)?.length ?? 0,
    json: results.flatMap(({ messages }: { messages: unknown[] }) => messages).length,
    github: annotations(found, '/').match(/^::(?:warning|notice|error) /gm)?.length ?? 0,
    sarif: JSON.parse(sarif(found, catalogue, '/')).runs[0].results.length,
  }
}

const reviewOf = (object: unknown, kind: string) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: { uid: 'u', kind: { group: kind === 'Pod' ? '' : 'apps', kind }, operation: 'CREATE', object },
})

describe('what would be ten thousand warnings is a few, and how many more there are', () => {
  for (const [what, object] of Object.entries(pods)) {
    test(what, () => {
      const { warnings } = examine(object, { configuration, surroundings: { job: false } })
      assert.ok(warnings.length > mostShown && warnings.length <= mostCollected, `${warnings.length} are collected`)
      assert.deepEqual(shown([object]), { text: mostShown, json: mostShown, github: mostShown, sarif: mostShown })

      const reviewed = review(reviewOf(object, 'Pod'), configuration)
      assert.ok(reviewed.ok)
      const told = reviewed.response.warnings ?? []
      // The API server drops them all beyond that.
      assert.ok(told.join('').length <= 4096 && told.length <= mostShown, `${told.length} warnings`)
      assert.match(told.at(-1) ?? '', /^SF230 and at least \d+ more warnings$/)
      const final = reviewFinal(reviewOf(object, 'Pod'), configuration)
      assert.ok(final.ok)
      assert.ok(JSON.stringify(final.response).length < 50_000)
    })

    test(`${what}, on a workload with keys of its own`, () => {
      const workload = onWorkload(object)
      assert.deepEqual(shown([workload]), { text: mostShown, json: mostShown, github: mostShown, sarif: mostShown })
      const reviewed = reviewWorkload(reviewOf(workload, 'Deployment'), configuration)
      assert.ok(reviewed.ok)
      const told = reviewed.response.warnings ?? []
      assert.equal(told.length, mostShown)
      assert.match(told.at(-1) ?? '', /^SF230 and at least \d+ more warnings$/)
    })
  }

  test('in a file of many pods, each has its few', () => {
    const many = Array.from({ length: 200 }, () =>
      pod({ sidecars: 'envoy', ...numbered(60, (index) => `z${index}`) }, [app, envoy]),
    )
    const all = 200 * mostShown
    assert.deepEqual(shown(many), { text: all, json: all, github: all, sarif: all })
  })
})
