import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { V1Pod } from '@kubernetes/client-node'
import { told } from '../../../src/check/findings.ts'
import { startFindings } from '../../../src/check/pod/start.ts'
import { createClock } from '../../../src/kubernetes/clock.ts'
import { connection } from '../../../src/kubernetes/connection.ts'
import { loadKubeconfig } from '../../../src/kubernetes/kubeconfig.ts'
import { type Objects, objects as objectsOf } from '../../../src/kubernetes/objects.ts'
import { judge } from '../../../src/outcome/outcome.ts'
import { observe } from '../../../src/seen/observe.ts'
import { jsonTimeline } from '../../../src/timeline/json.ts'
import { timelineOf } from '../../../src/timeline/timeline.ts'
import { create, createNamespace, kubectl, until } from '../cluster.ts'
import { hasLock } from '../kubernetes.ts'
import { app, type Container, pod, sidecar } from '../pod.ts'
import { startSlowRegistry } from '../slow-registry.ts'
import { startWebhook, type Webhook } from '../webhook.ts'

// A matrix of bad days. Each app writes down, at each of its starts, whether its sidecars answered at that moment; every verdict on every start is then
// compared with that. "Not known" is never wrong; to be of use, it has to be rare. STARTS=all takes all pods, otherwise every third.

const script = join(import.meta.dirname, '../../../scripts/cluster')
const namespace = 'lives'

/** What a sidecar does, in a shell: `$n` is the number of this run, from 1. */
const behaviours = {
  steady: 'READY_AFTER=2s exec /entrypoint',
  'crash-before': '[ $n -gt 2 ] && exec /entrypoint; sleep 1; exit 1',
  'crash-once': '[ $n -gt 1 ] && exec /entrypoint; READY_AFTER=1s EXIT_AFTER=7s exec /entrypoint',
  'crash-after': 'READY_AFTER=1s EXIT_AFTER=6s exec /entrypoint',
  'ends-after': 'READY_AFTER=1s /entrypoint & sleep 6; kill $!; exit 0',
  never: 'NEVER_READY=1 exec /entrypoint',
  flaps: 'while :; do /entrypoint & p=$!; sleep 4; kill -9 $p; sleep 3; done',
} as const
type Behaviour = keyof typeof behaviours

/** What an app does once it has written down the truth; `slow`: its image takes long to pull. */
const apps = {
  stays: { acts: 'exec sleep 3600', pull: 0 },
  again: { acts: 'sleep 5; exit 1', pull: 0 },
  slow: { acts: 'exec sleep 3600', pull: 9 },
  'slow-again': { acts: 'sleep 9; exit 0', pull: 3 },
} as const

interface Case {
  readonly name: string
  readonly sidecars: readonly Behaviour[]
  readonly app: keyof typeof apps
  readonly gate: 'hook' | 'native'
  readonly lock: 'on' | 'off'
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never'
  /** Nobody but the hook asks it. */
  readonly unprobed: boolean
}

const locks = hasLock ? (['on', 'off'] as const) : (['off'] as const)
const gates = ['hook', 'native'] as const
const one = (
  sidecars: readonly Behaviour[],
  app: keyof typeof apps,
  gate: Case['gate'],
  lock: Case['lock'],
  restartPolicy: Case['restartPolicy'] = 'Always',
  unprobed = false,
): Case => {
  const policy = restartPolicy === 'Always' ? '' : `-${restartPolicy.toLowerCase()}`
  const name = `${sidecars.join('-')}-${app}-${gate}${lock === 'on' ? '-locked' : ''}${policy}${unprobed ? '-unprobed' : ''}`
  return { name, sidecars, app, gate, lock, restartPolicy, unprobed }
}
const each = Object.keys(behaviours) as Behaviour[]
const all: readonly Case[] = gates.flatMap((gate) =>
  locks.flatMap((lock) => [
    ...each.flatMap((behaviour) => [one([behaviour], 'again', gate, lock), one([behaviour], 'slow', gate, lock)]),
    ...(['crash-after', 'ends-after', 'steady'] as const).flatMap((behaviour) =>
      gate === 'native'
        ? []
        : [
            one([behaviour], 'slow', gate, lock, 'Never'),
            one([behaviour], 'again', gate, lock, 'OnFailure', lock === 'off'),
            one([behaviour], 'slow-again', gate, lock, 'OnFailure'),
          ],
    ),
    one(['flaps', 'steady'], 'again', gate, lock),
    one(['steady', 'flaps'], 'slow', gate, lock, 'Always', true),
    one(['crash-after', 'steady'], 'again', gate, lock),
  ]),
)

const cases = process.env.STARTS === 'all' ? all : all.filter((_, index) => index % 3 === 0)

type Told = {
  from: string
  outcome: Verdict
  starts?: Start[]
}
type Start = { nth: number; at?: { after: number }; outcome: Verdict }
type Verdict = {
  kind: string
  reasons?: { why: string }[]
  reason?: { why: string }
  unwatched?: string[]
  asked?: string[]
}

/** What check says of a start, by its code. */
const codes = {
  first: { held: 'SF621', 'too-early': 'SF622', unknown: 'SF624', stuck: 'SF623' },
  later: { held: undefined, 'too-early': 'SF628', unknown: 'SF629', stuck: undefined },
} as const

describe(`what is said of every start of ${cases.length} pods, and what their apps saw`, () => {
  let webhook: Webhook | undefined
  let registry: Awaited<ReturnType<typeof startSlowRegistry>> | undefined
  let truths: string
  before(async () => {
    truths = await mkdtemp(join(tmpdir(), 'sidecar-first-lives-'))
    registry = await startSlowRegistry()
    webhook = await startWebhook('lives')
    await createNamespace(namespace, { test: 'lives' })
    // Some dozens at a time: a node that starts all at once is late with everything.
    for (let at = 0; at < cases.length; at += 30) {
      await create(...cases.slice(at, at + 30).map(podOf))
      await sleep(12_000)
    }
    // A node that is late has started none of them after some seconds; some never start.
    await until('half of the apps to have started', async () => {
      const found = await Promise.all(cases.map(({ name }) => truthOf(name)))
      return found.filter((each) => each.length > 0).length >= cases.length / 2 ? true : undefined
    })
    await sleep(30_000)
  })
  after(async () => {
    // To its end: what still runs writes into that folder, and keeps the node busy for the next file.
    await kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--timeout=150s').catch(() => {})
    await webhook?.remove()
    await registry?.[Symbol.asyncDispose]()
    await rm(truths, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 })
  })

  test('after a minute', () => compare('a minute'))

  test('after a restart of the kubelet', async () => {
    await promisify(execFile)(script, ['restart', 'kubelet'])
    await sleep(60_000)
    await compare('the kubelet has restarted')
  })

  async function compare(when: string): Promise<void> {
    await record(when)
    const wrong: string[] = []
    const counts = new Map<string, number>()
    const compared = { at: 0, later: 0 }
    const { objects, now } = await connected()
    for (const { name, sidecars } of cases) {
      const already = await truthOf(name)
      const pod = await objects.read<V1Pod>({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace } })
      if (!pod) throw new Error(`${name} is gone`)
      // As check and timeline do it, without reading the installation for each pod.
      const seen = await observe(objects, pod, now)
      const timeline: Told = JSON.parse(jsonTimeline(timelineOf(seen)))
      const checked = startFindings(seen, judge(seen)).map((finding) => told(finding).code)
      // Read behind the verdict: what an app has seen it writes at once.
      const truth = await truthOf(name)
      for (const { nth, at, outcome } of startsOf(timeline)) {
        const [answered, asked = 0] = truth[nth]?.split(' ') ?? []
        const late = at && Number(asked) * 1000 - (Date.parse(timeline.from) + at.after)
        // It hasn't asked yet, or did so at another time than that of its start.
        const isOfStart = late !== undefined && late > -1500 && late < 2000
        const said = `${nth > 0 ? 'again ' : ''}${outcome.kind} ${outcome.reasons?.map(({ why }) => why) ?? outcome.reason?.why ?? [...(outcome.unwatched ?? []).map(() => 'unwatched'), ...(outcome.asked ?? []).map(() => 'asked')]}`
        counts.set(said, (counts.get(said) ?? 0) + 1)
        // What comes and goes inside its container shows in no status, and nobody looks at it: only that isn't claimed.
        const unproven = [...(outcome.unwatched ?? []), ...(outcome.asked ?? [])]
        const unseen = unproven.some((each) => sidecars[Number(each.split('-')[1])] === 'flaps')
        const isWrong =
          (outcome.kind === 'held' && answered !== 'yes' && !(answered === 'no' && unseen)) ||
          (outcome.kind === 'too-early' && answered !== 'no') ||
          (outcome.kind === 'stuck' && already.length > 0)
        if (outcome.kind !== 'stuck' && answered !== undefined) compared[isOfStart ? 'at' : 'later']++
        if (isWrong && (isOfStart || outcome.kind === 'stuck'))
          wrong.push(`${name}, start ${nth}: ${said}, and its sidecar answered: ${answered}`)
        const code: string | undefined = codes[nth > 0 ? 'later' : 'first'][outcome.kind as 'held']
        if (code && !checked.some((each) => each === code)) wrong.push(`${name}, start ${nth}: check says ${checked}`)
      }
    }
    for (const [said, count] of [...counts].toSorted()) console.log(`${when}: ${count} × ${said}`)
    console.log(`${when}: ${compared.at} were asked at the start, ${compared.later} seconds later`)
    assert.deepEqual(wrong, [])
    const known = [...counts].filter(([said]) => /held|too-early/.test(said)).reduce((sum, [, count]) => sum + count, 0)
    assert.ok(known > cases.length / 4, `${known} verdicts`)
  }

  /** Those that are known; without any, how its first start stands. */
  const startsOf = ({ starts = [], outcome }: Told): readonly Start[] =>
    starts.length > 0 ? starts : [{ nth: 0, outcome }]

  async function connected(): Promise<{ objects: Objects; now: () => number }> {
    const { kubeconfig } = await loadKubeconfig(undefined)
    const { now, heard } = createClock()
    return { objects: objectsOf(connection(kubeconfig, { heard })), now }
  }

  /** For who wants to look at it again without a node: LIVES names a folder. */
  async function record(when: string): Promise<void> {
    const folder = process.env.LIVES
    if (!folder) return
    const get = async (...args: string[]) => JSON.parse(await kubectl('get', ...args, '-o', 'json')).items
    const truths = async () =>
      Object.fromEntries(await Promise.all(cases.map(async ({ name }) => [name, await truthOf(name)] as const)))
    const found = {
      already: await truths(),
      now: new Date().toISOString(),
      pods: await get('pods', '-n', namespace),
      events: await get('events', '-n', namespace),
      node: await get('events', '-n', 'default', '--field-selector=involvedObject.kind=Node,reason=Starting'),
      truths: await truths(),
    }
    await writeFile(join(folder, `${when.replaceAll(' ', '-')}.json`), JSON.stringify(found))
  }

  /** Whether its sidecars answered, for each start of its app. */
  const truthOf = async (name: string): Promise<string[]> =>
    (await readFile(join(truths, name), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '')

  function podOf({ name, sidecars, app: kind, gate, lock, restartPolicy, unprobed }: Case) {
    const { acts, pull } = apps[kind]
    const ports = sidecars.map((_, index) => 15_021 + index)
    const names = sidecars.map((_, index) => `sidecar-${index}`)
    const shared = { volumeMounts: [{ name: 'truths', mountPath: '/truths' }] }
    // When it asks counts, too: on a node that is late, that is seconds after its start.
    const ask = ports.map((port) => `wget -q -O /dev/null http://127.0.0.1:${port}/ready || ok=no`)
    const writes = app(`ok=yes at=$(date +%s); ${ask.join('; ')}; echo $ok $at >>/truths/${name}; ${acts}`, {
      ...shared,
      ...(pull > 0 && { image: registry?.image(pull, name), imagePullPolicy: 'IfNotPresent' }),
    })
    const members = sidecars.map((behaviour, index): Container => {
      const probe = { httpGet: { path: '/ready', port: ports[index] }, periodSeconds: 1 }
      const own = `/truths/.${name}.${index}`
      return sidecar(
        names[index] ?? '',
        { HTTP: `:${ports[index]}` },
        {
          image: 'docker.io/sidecar-first/test-shell:1',
          command: ['sh', '-c', `echo >>${own}; n=$(grep -c '' ${own}); ${behaviours[behaviour]}`],
          ...shared,
          ...(!unprobed && { readinessProbe: probe }),
        },
      )
    })
    const checks = unprobed
      ? names.map((each, index) => [`check.sidecar-first.dev/${each}`, `http://:${ports[index]}/ready`])
      : []
    return pod(namespace, name, [writes, ...members], {
      annotations: {
        'sidecar-first.dev/sidecars': names.join(' + '),
        'sidecar-first.dev/gate': gate,
        'sidecar-first.dev/lock': lock,
        'sidecar-first.dev/timeout': sidecars.includes('never') ? '5s' : '2m',
        ...Object.fromEntries(checks),
      },
      spec: { restartPolicy, volumes: [{ name: 'truths', hostPath: { path: truths } }] },
    })
  }
})
