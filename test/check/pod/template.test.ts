import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { examineOne } from '../../../src/check/pod/one.ts'
import { parseSubject } from '../../../src/check/pod/subject.ts'
import type { Installed } from '../../../src/check/site.ts'
import { ClusterError } from '../../../src/kubernetes/failure.ts'
import type { Objects } from '../../../src/kubernetes/objects.ts'
import { lived } from '../../outcome/lived.ts'
import { asking, installation, namespace, ofDeployment, patched, shop } from '../cluster.ts'

const optIn = installation()
const ok = <T>(value: T) => ({ ok: true, value }) as const
const sidecars = 'sidecar-first.dev/sidecars'

/** A workload as the API server has it, with its events, which may be forbidden. */
async function check(
  subject: string,
  annotations: Record<string, string>,
  {
    status = {},
    events = [],
    pods = [],
    home = shop,
    configuration = optIn.configuration,
    written = false,
  }: {
    status?: object
    events?: CoreV1Event[] | 'forbidden'
    pods?: V1Pod[]
    /** Its namespace. */
    home?: object | 'forbidden'
    configuration?: typeof optIn.configuration
    /** As `inject` has written it. */
    written?: boolean
  } = {},
) {
  const asked = asking('web', { annotations })
  const { metadata, spec } = written ? patched(asked, configuration) : asked
  const workload = {
    metadata: { name: 'web', namespace: 'shop', uid: 'u' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { annotations: metadata?.annotations }, spec },
    },
    status,
  }
  const objects = {
    read: async ({ kind }: { kind: string }) =>
      kind === 'Namespace' ? (home === 'forbidden' ? forbidden() : home) : kind === 'Pod' ? pods[0] : workload,
    async *items({ kind }: { kind: string }, { fieldSelector = '' }: { fieldSelector?: string }) {
      if (kind === 'Pod') {
        yield* pods
        return
      }
      if (events === 'forbidden') forbidden()
      else yield* events.filter(selects(fieldSelector))
    },
  }
  const installed = {
    mutating: ok(optIn.mutating),
    validating: ok(optIn.validating),
    workloads: ok(undefined),
    configuration: ok({ read: { ok: true, configuration } }),
  }
  const found = await examineOne(
    {
      objects: objects as unknown as Objects,
      installed: installed as unknown as Installed,
      version: '1.0.0',
      now: () => 0,
    },
    { ...(parseSubject(subject) ?? assert.fail()), namespace: 'shop' },
  )
  return found.map(({ code, level, text }) => `${level} ${code} ${text}`)
}

/** As the API server reads a field selector. */
const selects = (fieldSelector: string) => (event: object) =>
  fieldSelector.split(',').every((each) => {
    const [path = '', value] = each.split('=')
    return path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], event) === value
  })

const forbidden = () => {
  throw new ClusterError('forbidden', 'the API server answered 403')
}

/** A pod of the Deployment web whose app began before envoy was ready. */
function early(configuration?: typeof optIn.configuration, phase = 'Running'): V1Pod {
  const { pod } = lived(
    [
      { name: 'app', runs: [[1]] },
      { name: 'envoy', runs: [[4]] },
    ],
    { now: 60, named: 'envoy' },
  )
  const asked = asking('web-1', { uid: 'web-1', ...ofDeployment('web') })
  const { metadata, spec } = configuration ? patched(asked, configuration) : asked
  return { metadata, spec, status: { ...pod.status, phase } } as V1Pod
}

/** About the workload itself, if nothing else is said. */
const event = (reason: string, at: string, message = reason, about: object = { uid: 'u' }) =>
  ({
    metadata: { name: `web.${at}` },
    involvedObject: about,
    reason,
    message,
    lastTimestamp: at,
  }) as unknown as CoreV1Event

describe('check of a workload', () => {
  test('says of its pods what check pod/ says of them, under the same codes', async () => {
    const other = installation('defaults: { timeout: 77s }\n').configuration
    const codes = (lines: readonly string[]) =>
      lines.flatMap((line) => /^(?:problem|warning) SF\d+/.exec(line)?.[0] ?? [])
    const seen = new Set<string>()
    for (const pod of [early(), early(other), early(optIn.configuration)]) {
      const one = codes(await check('pod/web-1', {}, { pods: [pod] }))
      const all = codes(await check('deploy/web', { [sidecars]: 'envoy' }, { pods: [pod] }))
      assert.deepEqual(all.toSorted(), one.toSorted())
      for (const code of one) seen.add(code)
    }
    assert.deepEqual([...seen].toSorted(), ['problem SF620', 'warning SF619', 'warning SF622'])
  })

  test('says what can be told without the right to get its namespace, and not that it is uncovered', async () => {
    for (const subject of ['pod/web-1', 'deploy/web']) {
      const more = { pods: [early()], home: 'forbidden' as const }
      const found = (await check(subject, { [sidecars]: 'envoy' }, more)).join('\n')
      assert.match(found, /^warning SF668 .*the namespace shop$/m)
      assert.match(found, /^warning SF612 it should start envoy, before app$/m)
      assert.match(found, /too early/)
      assert.doesNotMatch(found, /SF614|SF617|SF620|labelled/)
    }
  })

  test('counts its pods that nothing patched, but for those that have ended', async () => {
    const pods = [early(), early(), early(optIn.configuration), early(undefined, 'Succeeded')]
    const found = await check('deploy/web', { [sidecars]: 'envoy' }, { pods })
    assert.match(
      found.join('\n'),
      /^problem SF620 Deployment shop\/web: 2 of 3 pods, such as web-1: it should start envoy, before app, and doesn't: /m,
    )
  })

  test('whose sidecar is misspelt says that its pods are refused, and what is meant', async () => {
    const found = await check('deploy/web', { [sidecars]: 'envoyy' })
    assert.match(found.join('\n'), /^problem SF615 its pods are refused: SF173 .*did you mean envoy\?$/m)
    assert.doesNotMatch(found.join('\n'), /left alone|SF259/)
  })

  test('that names a container which is not there says what its pods need', async () => {
    for (const names of ['vaultt', 'envoy, vaultt']) {
      const found = await check('deploy/web', { [sidecars]: names })
      assert.match(found.join('\n'), /^warning SF633 its pods are refused unless an injector adds vaultt$/m)
      assert.doesNotMatch(found.join('\n'), /left alone|SF617|SF259/)
    }
    const written = await check('deploy/web', { [sidecars]: 'envoy, vaultt' }, { written: true })
    assert.match(written.join('\n'), /^warning SF633 its pods are refused unless/m)
    const known = await check('deploy/web', { [sidecars]: 'envoy, istio-proxy' })
    assert.match(known.join('\n'), /^ok SF617 its pods start envoy, before app$/m)
  })

  test('in a namespace that is not covered says so first, and that labelling it alone would have its pods refused', async () => {
    const found = await check('deploy/web', { [sidecars]: 'envoyy' }, { home: namespace('shop') })
    assert.match(
      found.join('\n'),
      /^problem SF614 it should be refused \(SF173 .*did you mean envoy\?\), but the namespace shop isn't labelled/m,
    )
    const absent = await check('deploy/web', { [sidecars]: 'envoy, vault' }, { home: namespace('shop') })
    assert.match(absent.join('\n'), /SF614 it should be refused unless an injector adds vault, but the namespace/)
  })

  test('that nothing but the mode lets by says what would become of it', async () => {
    const { configuration } = installation('mode: observe\n')
    const observed = async (annotations: Record<string, string>) =>
      (await check('deploy/web', annotations, { configuration })).join('\n')
    const refused = /^ok SF616 mode: observe; otherwise it would be refused \(SF(173|112) /m
    for (const names of ['envoyy', ',']) assert.match(await observed({ [sidecars]: names }), refused)
    assert.match(await observed({ [sidecars]: 'vault' }), /SF616 .* refused unless an injector adds vault$/m)
    assert.match(
      await observed({ [sidecars]: 'envoy' }),
      /SF616 mode: observe; otherwise it would start envoy, before app$/m,
    )
  })

  test('says what keeps it from having pods, whoever refuses them', async () => {
    const message = 'pods "web-1" is forbidden: exceeded quota: q'
    const condition = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message }
    const failed = await check('deploy/web', { [sidecars]: 'envoy' }, { status: { conditions: [condition] } })
    assert.match(failed.join('\n'), /^problem SF634 its pods can't be created: .*exceeded quota: q$/m)
    const over = { ...condition, status: 'False' }
    const well = await check('deploy/web', { [sidecars]: 'envoy' }, { status: { conditions: [over] } })
    assert.doesNotMatch(well.join('\n'), /SF634/)
  })

  test('of a kind without such a condition looks at its last event about pods', async () => {
    const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z']
    const of = async (...events: CoreV1Event[]) =>
      (await check('sts/web', { [sidecars]: 'envoy' }, { events })).join('\n')
    assert.match(
      await of(event('SuccessfulCreate', early), event('FailedCreate', late, 'no room')),
      /SF634 .*: no room$/m,
    )
    assert.doesNotMatch(await of(event('SuccessfulCreate', late), event('FailedCreate', early)), /SF634/)
    assert.doesNotMatch(await of(), /SF634/)
    // Some who write events leave their times out.
    const timeless = event('SuccessfulCreate', '')
    assert.match(await of(timeless, event('FailedCreate', late)), /SF634/)
    assert.doesNotMatch(await of(event('FailedCreate', ''), event('SuccessfulCreate', late)), /SF634/)
    const unread = await check('sts/web', { [sidecars]: 'envoy' }, { events: 'forbidden' })
    assert.doesNotMatch(unread.join('\n'), /SF634/)
  })

  test('that is a CronJob says what keeps its newest Job from having pods', async () => {
    const minute = 29_000_000
    const at = (minutes: number) => new Date((minute + minutes) * 60_000).toISOString()
    const job = (of: number) => ({ kind: 'Job', name: `web-${minute + of}`, namespace: 'shop', uid: `j${of}` })
    const created = (of: number) => event('SuccessfulCreate', at(of), `Created job web-${minute + of}`)
    const denied = (of: number, till: number) => event('FailedCreate', at(till), `denied, ${of}`, job(of))
    const made = (of: number) => event('SuccessfulCreate', at(of), 'Created pod', job(of))
    const of = async (newest: number | undefined, ...events: CoreV1Event[]) => {
      const status = newest === undefined ? {} : { lastScheduleTime: at(newest) }
      const found = await check('cronjob/web', { [sidecars]: 'envoy' }, { events, status })
      return found.filter((line) => line.includes('SF634'))
    }
    const denial = "problem SF634 its pods can't be created: denied, "
    assert.deepEqual(await of(0, created(0), denied(0, 0)), [`${denial}0`])
    // Its controller goes on to create Jobs, and each of them tries again and again.
    assert.deepEqual(await of(1, created(0), denied(0, 2), created(1), denied(1, 1)), [`${denial}1`])
    assert.deepEqual(await of(1, created(0), denied(0, 2), created(1), made(1)), [])
    assert.deepEqual(await of(0, created(0), event('FailedCreate', at(1), 'no Job: quota'), made(0)), [
      "problem SF634 its pods can't be created: no Job: quota",
    ])
    // One that was deleted had the same name.
    assert.deepEqual(await of(undefined, denied(0, 1)), [])
  })
})
