import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Container, V1Pod } from '@kubernetes/client-node'
import { decide } from '../../src/admission/decide.ts'
import { parseSubject } from '../../src/check/pod/subject.ts'
import type { Installed } from '../../src/check/site.ts'
import { ClusterError, type FailureKind } from '../../src/kubernetes/failure.ts'
import type { Objects } from '../../src/kubernetes/objects.ts'
import { applyPatch } from '../../src/preview/patch.ts'
import { tryJson, tryText } from '../../src/try/text.ts'
import { type Tried, tryWorkload } from '../../src/try/try.ts'
import { installation, namespace, shop } from '../check/cluster.ts'
import { app, at, now, pod, proxy, runs } from '../scan/pods.ts'

const optIn = installation()
const look = { width: 110, color: false, unicode: true, terminal: false }
const ok = <T>(value: T) => ({ ok: true, value }) as const

/** The app at 1 s, its proxy at 4 s, everything ready at 9 s. */
function started(name = 'web-1', more: Parameters<typeof pod>[2] = {}): V1Pod {
  const made = pod(name, [runs('app', 1), runs('istio-proxy', 4)], more)
  const conditions = [{ type: 'ContainersReady', status: 'True', lastTransitionTime: at(9) }]
  return { ...made, status: { ...made.status, conditions } }
}

/** What the webhook makes of a pod that asks. */
function webhook(one: V1Pod): V1Pod {
  const decision = decide(one as never, optIn.configuration)
  return decision.verdict === 'patched' ? (applyPatch(one as never, decision.patch) as V1Pod) : one
}

interface Given {
  readonly containers?: readonly V1Container[]
  readonly annotations?: Record<string, string>
  /** undefined: they may not be listed. */
  readonly pods?: readonly V1Pod[] | undefined
  /** What the dry run of a pod answers. */
  readonly answer?: (pod: V1Pod) => V1Pod
  readonly home?: typeof shop | 'forbidden'
  readonly installed?: Partial<Record<'configuration' | 'mutating', unknown>>
  readonly own?: readonly string[]
}

/** A fake cluster of one Deployment; what is said of it, and what was sent. */
async function tried(given: Given = {}): Promise<{ found: Tried; text: string; codes: string[]; sent: V1Pod[] }> {
  const { containers = [app, proxy], annotations = {}, home = shop, answer = webhook } = given
  const pods = 'pods' in given ? given.pods : [started()]
  const sent: V1Pod[] = []
  const web = {
    metadata: { name: 'web', namespace: 'shop' },
    spec: { selector: { matchLabels: { app: 'web' } }, template: { metadata: { annotations }, spec: { containers } } },
  }
  const objects = {
    async read({ kind }: { kind: string }) {
      if (kind !== 'Namespace') return web
      if (home === 'forbidden') throw failure('forbidden', 'namespaces is forbidden')
      return home
    },
    async *items({ kind }: { kind: string }) {
      if (kind !== 'Pod') return
      if (pods === undefined) throw failure('forbidden', 'pods is forbidden')
      yield* pods
    },
    async create(one: V1Pod, { dryRun }: { dryRun?: boolean } = {}) {
      assert.equal(dryRun, true, 'it changes nothing')
      sent.push(structuredClone(one))
      return answer(one)
    },
    apply: () => assert.fail('it changes nothing'),
    remove: () => assert.fail('it changes nothing'),
  }
  const installed = {
    configuration: ok({ text: '', read: { ok: true, configuration: optIn.configuration } }),
    mutating: ok(optIn.mutating),
    ...given.installed,
  }
  const found = await tryWorkload(
    {
      objects: objects as unknown as Objects,
      installed: installed as unknown as Installed,
      version: '1.0.0',
      now: () => now,
    },
    { ...(parseSubject('deploy/web') ?? assert.fail()), namespace: 'shop', own: new Set(given.own) },
  )
  assert.ok(found)
  const text = tryText(found, look)
  return { found, text, codes: [...text.matchAll(/^\w+ +(SF\d{3})/gm)].map(([, code = '']) => code), sent }
}

const failure = (kind: FailureKind, message: string) => new ClusterError(kind, message)

describe('a trial of a workload', () => {
  test('says what would become of it, what to add, and what that costs, by its last real start', async () => {
    const { found, text, codes, sent } = await tried()
    assert.deepEqual(codes, ['SF651', 'SF654', 'SF660', 'SF662'])
    assert.match(text, /SF651 it would start istio-proxy, before app$/m)
    assert.match(text, / {2}sidecar-first\.dev\/sidecars: istio-proxy {2}# the app starts once istio-proxy is ready$/m)
    // Its proxy took 5 s from its start until it was ready, which begins where the app began: at 1 s.
    assert.match(text, /SF660 app would start about 5 s later: about 6 s instead of about 1 s after the pod is given/)
    assert.match(
      text,
      /^web-1 started\napp .*\nistio-proxy .*\nit would have started\nsidecar-first-waiter .*\nistio-proxy .*\napp .* would start about 6 s$/m,
    )
    assert.deepEqual(
      sent.map(({ metadata }) => metadata?.annotations),
      [{}, { 'sidecar-first.dev/sidecars': 'istio-proxy' }],
      'the webhook patches it itself',
    )
    assert.deepEqual([found.last?.name, found.foreseen?.cost?.was], ['web-1', 1000])
    assert.equal(JSON.parse(tryJson(found)).cost.would, 6000)
  })

  test('takes what injectors add into account: they see the dry run', async () => {
    const inject = (one: V1Pod): V1Pod => webhook({ ...one, spec: { containers: [app, proxy] } })
    const { text } = await tried({ containers: [app], answer: inject })
    assert.match(text, /SF651 it would start istio-proxy, before app/)
  })

  test('says at most where the app’s own probe may be what the pod waited for', async () => {
    const slow = { ...app, readinessProbe: { httpGet: { port: 80 } } }
    const { text } = await tried({ containers: [slow, proxy], pods: [started('web-1', { containers: [slow, proxy] })] })
    assert.match(text, /SF660 app would start at most about 5 s later/)
  })

  test('of one that asks already tells that, and adds nothing', async () => {
    const annotations = { 'sidecar-first.dev/sidecars': 'istio-proxy' }
    const { found, text } = await tried({ annotations })
    assert.match(text, /SF651 its next pod starts istio-proxy, before app/)
    assert.deepEqual(found.lines, [])
  })

  test('of a container that is missing says what check says of it', async () => {
    const misspelt = await tried({ annotations: { 'sidecar-first.dev/sidecars': 'istio-proxxy' } })
    assert.deepEqual(misspelt.codes, ['SF615'])
    assert.match(misspelt.text, /SF615 its pods are refused: SF173 .*did you mean istio-proxy\?/)
    const absent = await tried({ annotations: { 'sidecar-first.dev/sidecars': 'istio-proxy, vault' } })
    assert.deepEqual(absent.codes, ['SF633'])
    assert.match(absent.text, /SF633 its pods are refused unless an injector adds vault$/m)
    assert.equal(absent.sent.length, 1, 'what would be refused is not tried')
  })

  test('of a container that --sidecar names offers a check by its port, and says that it is not sure', async () => {
    const cache: V1Container = { name: 'cache', image: 'c', ports: [{ containerPort: 6379 }] }
    const { text } = await tried({ containers: [app, cache], own: ['cache'], pods: [] })
    assert.match(text, /sidecar-first\.dev\/sidecars: cache/)
    assert.match(
      text,
      /check\.sidecar-first\.dev\/cache: tcp:\/\/:6379 {2}# only if it is configured for it: cache declares port 6379/,
    )
  })
})

describe('a trial says what it could not see', () => {
  test('no pod yet, or no right to list them', async () => {
    assert.match((await tried({ pods: [] })).text, /SF659 it has no pod, so no start was measured/)
    assert.match((await tried({ pods: undefined })).text, /SF659 you may not list its pods/)
  })

  test('no right to create pods: it is judged by its newest pod, or by its template alone', async () => {
    const answer = () => {
      throw failure('forbidden', 'the API server answered 403: User "x" cannot create resource "pods"')
    }
    const { codes, text } = await tried({ answer })
    assert.deepEqual(codes, ['SF656', 'SF651', 'SF660', 'SF662'])
    assert.match(text, /judged by its newest pod: .*cannot create/)
    assert.match(
      (await tried({ answer, pods: [] })).text,
      /judged by its template alone: what injectors add is missing/,
    )
    const since = await tried({ answer, annotations: { 'sidecar-first.dev/sidecars': 'vault' } })
    assert.deepEqual(since.codes, ['SF656', 'SF633'], 'what the template says by now counts')
  })

  test('a policy that refuses its pods, as they are or with our patch', async () => {
    const refuse = () => {
      throw failure('forbidden', 'the API server answered 403: violates PodSecurity "restricted"')
    }
    assert.match((await tried({ answer: refuse })).text, /SF655 the API server would refuse it as it is: .*PodSecurity/)
    const answer = (one: V1Pod) => (one.metadata?.annotations?.['sidecar-first.dev/status'] ? refuse() : one)
    const { text } = await tried({ answer, home: namespace('shop') })
    assert.match(text, /SF655 the API server would refuse it with our patch/)
  })

  test('a sidecar of which nobody saw when it was ready', async () => {
    const unready = started()
    const { text, found } = await tried({ pods: [{ ...unready, status: { ...unready.status, conditions: [] } }] })
    assert.match(text, /SF661 what it would cost is not known: nobody saw when istio-proxy of web-1 was ready/)
    assert.equal(found.foreseen?.cost, undefined)
    assert.match(text, /app .* not known when$/m)
  })

  test('an installation that is missing, or does not cover the namespace', async () => {
    const installed = { configuration: ok(undefined), mutating: ok(undefined) }
    const { text, sent } = await tried({ installed })
    assert.match(text, /SF658 sidecar-first is not installed/)
    assert.match(text, /SF654 the API server would accept it, in a dry run with our patch/)
    const order = ['istio-proxy', 'app']
    assert.deepEqual(
      sent[1]?.spec?.containers.map(({ name }) => name),
      order,
    )
    assert.match(
      (await tried({ home: namespace('shop') })).text,
      /SF657 the webhook would not be called: the namespace shop isn't labelled/,
    )
  })

  test('a namespace that may not be read is said to be so, not to be without its label', async () => {
    const { codes, text } = await tried({ home: 'forbidden' })
    assert.ok(!codes.includes('SF657'), text)
    assert.match(
      text,
      /warning +SF667 whether the webhook would be called is not known: you may not read the namespace shop$/m,
    )
  })

  test('a webhook that only observes, or does not answer', async () => {
    const configuration = installation('mode: observe\n').configuration
    const observing = { configuration: ok({ text: '', read: { ok: true, configuration } }) }
    assert.match((await tried({ installed: observing, answer: (one) => one })).text, /SF663 .* mode: observe/)
    assert.match((await tried({ answer: (one) => one })).text, /SF664 in the dry run it came back unpatched/)
  })

  test('names that would write to a terminal', async () => {
    const hostile = { ...app, name: 'a\u001b[2J' }
    const { text } = await tried({ containers: [hostile, proxy], pods: [] })
    assert.equal(text.includes('\u001b'), false)
  })
})

test('one that nobody can find is not there', async () => {
  const objects = { read: async () => undefined } as unknown as Objects
  const installed = { configuration: ok(undefined), mutating: ok(undefined) } as unknown as Installed
  const subject = { ...(parseSubject('deploy/web') ?? assert.fail()), namespace: 'shop', own: new Set<string>() }
  assert.equal(await tryWorkload({ objects, installed, version: '1', now: () => now }, subject), undefined)
})
