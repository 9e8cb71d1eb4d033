import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { V1MutatingWebhookConfiguration, V1Namespace, V1Pod } from '@kubernetes/client-node'
import { toldOnce } from '../../src/check/checks.ts'
import { explain } from '../../src/check/explain.ts'
import { ownerOf } from '../../src/check/owner.ts'
import { judgePod, judgePods } from '../../src/check/pods.ts'
import { textReport } from '../../src/check/report.ts'
import { manifestOf, parseSubject } from '../../src/check/subject.ts'
import { asking, installation, levels, namespace, ofDeployment, patched, shop } from './cluster.ts'

const optIn = installation()
const { configuration } = optIn

describe('running pods', () => {
  const judge = (pods: readonly V1Pod[], home = shop, { mutating } = optIn) =>
    judgePods(
      pods.flatMap((pod) => judgePod(pod, home, configuration, mutating.webhooks ?? []) ?? []),
      new Date('2026-01-01'),
    ).slice(1)
  const sound = (name: string, more: V1Pod['metadata'] = {}) => patched(asking(name, more), configuration)

  it('are counted by their owner, with the line that makes them anew', () => {
    const pods = ['a', 'b', 'c'].map((name) => asking(name, { ...asking(name).metadata, ...ofDeployment('web') }))
    const findings = judge([...pods, sound('d', { ...asking('d').metadata, ...ofDeployment('web') })])
    assert.deepEqual(levels(findings), ['problem'])
    assert.match(findings[0]?.text ?? '', /^Deployment shop\/web: 3 of 4 pods without the order envoy, before app/)
    assert.equal(findings[0]?.next, 'kubectl rollout restart -n shop deployment/web')
  })

  it('are right as the webhook left them, also those of another version', () => {
    const old = sound('old')
    const annotations = old.metadata?.annotations ?? {}
    const status = 'sidecar-first.dev/status'
    annotations[status] = (annotations[status] ?? '').replace('1.0.0', '0.9.0')
    assert.deepEqual(levels(judge([sound('new'), old, { ...asking('app'), metadata: { name: 'app' } }])), [])
  })

  it('are a warning where only their hook differs, and a problem where somebody moved them', () => {
    const longer = asking('x')
    Object.assign(longer.metadata?.annotations ?? {}, { 'sidecar-first.dev/timeout': '5m' })
    const outdated = sound('x')
    outdated.metadata = { ...patched(longer, configuration).metadata, name: 'x', namespace: 'shop' }
    assert.deepEqual(levels(judge([outdated])), ['warning'])
    const moved = sound('y')
    moved.spec?.containers.reverse()
    const [finding] = judge([moved])
    assert.equal(finding?.level, 'problem')
    assert.match(finding?.text ?? '', /patched once, and changed afterwards/)
  })

  it('tell those that were there before the webhook', () => {
    const created = { ...asking('a').metadata, creationTimestamp: new Date('2025-01-01') }
    assert.match(judge([asking('a', created)])[0]?.text ?? '', /created before the webhook was there/)
    created.creationTimestamp = new Date('2026-02-01')
    assert.match(judge([asking('a', created)])[0]?.text ?? '', /created while no replica answered/)
  })

  it('are a warning where they ask in a namespace that is not covered, and nothing where it opted out', () => {
    const [finding] = judge([asking('a')], namespace('shop'))
    assert.equal(finding?.level, 'warning')
    assert.match(
      finding?.next ?? '',
      /^kubectl label namespace shop --overwrite sidecar-first\.dev\/injection=enabled; then/,
    )
    assert.deepEqual(levels(judge([asking('a')], namespace('shop', { 'sidecar-first.dev/injection': 'disabled' }))), [])
  })

  it('are a warning where they would be refused', () => {
    const pod = asking('a')
    Object.assign(pod.metadata?.annotations ?? {}, { 'sidecar-first.dev/timeout': 'soon' })
    assert.deepEqual(levels(judge([pod])), ['warning'])
  })

  it('are seen by the webhook of their namespace, with its rules', () => {
    const rules =
      'rules: [{name: mesh, tier: 1, match: {container: envoy, namespaceSelector: {matchLabels: {team: a}}}}]\n'
    const made = installation(rules)
    const one = asking('a', { annotations: {} })
    const judgeIn = (home: V1Namespace) =>
      judgePods(
        [judgePod(one, home, made.configuration, made.mutating.webhooks ?? [])].flatMap((each) => each ?? []),
        undefined,
      )
    assert.deepEqual(levels(judgeIn(namespace('shop', { ...shop.metadata?.labels, team: 'a' }))), ['ok', 'problem'])
    assert.deepEqual(levels(judgeIn(shop)), ['ok'])
  })
})

describe('why one pod was patched or was not', () => {
  const cases: {
    what: string
    pod?: V1Pod
    home?: V1Namespace
    mutating?: V1MutatingWebhookConfiguration | 'unreadable' | undefined
    level: string
    says: RegExp
  }[] = [
    {
      what: 'patched',
      pod: patched(asking('a'), configuration),
      level: 'ok',
      says: /its order is as it should be: starts envoy, before app/,
    },
    {
      what: 'asks for nothing',
      pod: asking('a', { annotations: {} }),
      level: 'ok',
      says: /left alone: no sidecar-first\.dev\/sidecars annotation/,
    },
    {
      what: 'opted out',
      pod: asking('a', { annotations: { 'sidecar-first.dev/sidecars': 'envoy', 'sidecar-first.dev/inject': 'false' } }),
      level: 'warning',
      says: /has no effect beside sidecar-first\.dev\/inject/,
    },
    {
      what: 'mirror',
      pod: asking('a', { annotations: { 'sidecar-first.dev/sidecars': 'envoy', 'kubernetes.io/config.mirror': 'x' } }),
      level: 'ok',
      says: /a mirror pod/,
    },
    { what: 'unlabelled', home: namespace('shop'), level: 'problem', says: /namespace shop isn't labelled/ },
    {
      what: 'opted-out namespace',
      home: namespace('shop', { 'sidecar-first.dev/injection': 'disabled' }),
      level: 'problem',
      says: /is labelled sidecar-first\.dev\/injection: disabled/,
    },
    {
      what: 'excluded',
      home: namespace('kube-system'),
      level: 'problem',
      says: /pods of the namespace kube-system are never patched/,
    },
    { what: 'no webhook', mutating: undefined, level: 'problem', says: /there is no MutatingWebhookConfiguration/ },
    { what: 'webhook unreadable', mutating: 'unreadable', level: 'warning', says: /it should start envoy, before app/ },
    {
      what: 'missed',
      level: 'problem',
      says: /it should start envoy, before app, and doesn't: it was created before its namespace was labelled/,
    },
  ]
  for (const { what, pod = asking('a'), home = shop, level, says, ...rest } of cases) {
    it(what, () => {
      const mutating = 'mutating' in rest ? rest.mutating : optIn.mutating
      const made = { created: new Date(), renew: 'make it anew' }
      const surroundings = { job: false }
      const findings = explain({
        pod: pod as never,
        made,
        surroundings,
        namespace: home,
        configuration,
        mutating,
      })
      const found = findings.find(({ text }) => says.test(text))
      assert.equal(found?.level, level, findings.map(({ level, text }) => `${level} ${text}`).join('\n'))
    })
  }

  it('names the rule of a container, and no price as a warning', () => {
    const { configuration, mutating } = installation('rules: [{name: mesh, tier: 1, match: {container: envoy}}]\n')
    const pod = asking('a', { annotations: {} }) as never
    const findings = explain({
      pod,
      made: undefined,
      surroundings: { job: false },
      namespace: shop,
      configuration,
      mutating,
    })
    assert.deepEqual(
      findings.map(({ level, text }) => `${level}: ${text}`),
      ['ok: the rule mesh makes envoy a sidecar', 'ok: its pods start envoy, before app'],
    )
  })
})

describe('an owner', () => {
  it('is believed only by a name that Kubernetes would give: it stands in a command to paste', () => {
    const controller = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'x; reboot', uid: 'u', controller: true }
    const pod = asking('a', { ...asking('a').metadata, ownerReferences: [controller] })
    assert.deepEqual(ownerOf(pod), { kind: 'Pod', namespace: 'shop', name: 'a' })
  })
})

describe('a subject', () => {
  it('is named as kubectl names it', () => {
    assert.equal(parseSubject('pod/a')?.kind.kind, 'Pod')
    assert.equal(parseSubject('deploy/a.b-1')?.name, 'a.b-1')
    assert.equal(parseSubject('cj/a')?.kind.surroundings.job, true)
    for (const text of ['a', 'pod/', 'pod/A', 'node/a', 'pod/a/b']) assert.equal(parseSubject(text), undefined, text)
  })

  it('has its template wherever its kind keeps it', () => {
    const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [] } }
    const cronJob = { spec: { jobTemplate: { spec: { template } } } }
    const kind = parseSubject('cronjob/a')?.kind
    assert.deepEqual(kind && manifestOf(cronJob, kind, 'shop'), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { labels: { app: 'a' }, namespace: 'shop' },
      spec: { containers: [] },
    })
  })
})

describe('the report', () => {
  it('has what to do below each finding, and counts them', () => {
    const findings = [{ level: 'problem', text: 'it is broken', next: 'mend it' }] as const
    const checked = [
      { name: 'first', findings },
      { name: 'second', findings: [{ level: 'ok', text: 'fine' }] as const },
    ]
    const text = textReport(checked, { width: 100, color: false, unicode: false })
    assert.equal(
      text,
      'problem  first   it is broken\n                 -> mend it\nok       second  fine\n\n1 problem, no warnings\n',
    )
  })

  it('says once what keeps several checks from looking', () => {
    const why = (text: string) => [{ level: 'warning', text: `not looked at: ${text}` }] as const
    const told = toldOnce([
      { name: 'a', findings: why('403') },
      { name: 'b', findings: why('404') },
      { name: 'c', findings: why('403') },
    ])
    assert.deepEqual(
      told.map(({ findings }) => findings[0]?.text),
      ['not looked at: 403', 'not looked at: 404', 'not looked at, as a'],
    )
  })

  it('says once what several findings in a row ask for', () => {
    const [one, two, three] = ['a', 'a', 'b'].map((next) => ({ level: 'problem', text: 'it is broken', next }) as const)
    assert.ok(one && two && three)
    const text = textReport([{ name: 'x', findings: [one, two, three, one] }], {
      width: 100,
      color: false,
      unicode: false,
    })
    assert.deepEqual(
      [...text.matchAll(/-> (.)/g)].map(([, next]) => next),
      ['a', 'b', 'a'],
    )
  })

  it('has nothing of a pod that would write to the terminal', () => {
    const findings = [{ level: 'ok', text: 'sidecars: \u001b]0;title\u0007' }] as const
    const text = textReport([{ name: 'a', findings }], { width: 100, color: false, unicode: true })
    assert.doesNotMatch(text, /\p{Cc}(?<!\n)/u)
  })
})
