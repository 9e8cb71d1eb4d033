import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1MutatingWebhookConfiguration, V1Namespace, V1Pod } from '@kubernetes/client-node'
import type { Configuration } from '../../../src/admission/intent/configuration.ts'
import { toldOnce } from '../../../src/check/checks.ts'
import { told } from '../../../src/check/findings.ts'
import { judgePod, judgePods as podFindings, refusedByRules } from '../../../src/check/installation/pods.ts'
import { examineOne } from '../../../src/check/pod/one.ts'
import { manifestOf, parseSubject } from '../../../src/check/pod/subject.ts'
import { explain as findingsOf } from '../../../src/check/pod/template.ts'
import { jsonReport, textReport } from '../../../src/check/report.ts'
import type { Installed } from '../../../src/check/site.ts'
import type { Objects } from '../../../src/kubernetes/objects.ts'
import { ownerOf } from '../../../src/seen/owner.ts'
import { asking, installation, levels, namespace, ofDeployment, patched, shop, worded } from '../cluster.ts'

const judgePods = worded(podFindings)
const explain = worded(findingsOf)

const optIn = installation()
const { configuration } = optIn

describe('running pods', () => {
  const judge = (pods: readonly V1Pod[], home = shop, { mutating } = optIn) =>
    judgePods(
      pods.flatMap((pod) => judgePod(pod, home, configuration, mutating.webhooks ?? []) ?? []),
      new Date('2026-01-01'),
    ).slice(1)
  const sound = (name: string, more: V1Pod['metadata'] = {}) => patched(asking(name, more), configuration)

  test('are counted by their owner, with the line that makes them anew', () => {
    const pods = ['a', 'b', 'c'].map((name) => asking(name, { ...asking(name).metadata, ...ofDeployment('web') }))
    const findings = judge([...pods, sound('d', { ...asking('d').metadata, ...ofDeployment('web') })])
    assert.deepEqual(levels(findings), ['problem'])
    assert.match(findings[0]?.text ?? '', /^Deployment shop\/web: 3 of 4 pods without the order envoy, before app/)
    assert.equal(findings[0]?.next, 'kubectl rollout restart -n shop deployment/web')
  })

  test('are right as the webhook left them, also those of another version', () => {
    const old = sound('old')
    const annotations = old.metadata?.annotations ?? {}
    const status = 'sidecar-first.dev/status'
    annotations[status] = (annotations[status] ?? '').replace('1.0.0', '0.9.0')
    assert.deepEqual(levels(judge([sound('new'), old, { ...asking('app'), metadata: { name: 'app' } }])), [])
  })

  test('are a warning where only their hook differs, and a problem where somebody moved them', () => {
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

  test('are named where a client dropped the lock, with the containers that lost it', () => {
    const given = asking('x')
    Object.assign(given.metadata?.annotations ?? {}, { 'sidecar-first.dev/lock': 'on' })
    const made = patched(given, configuration)
    made.metadata = { ...made.metadata, name: 'x', namespace: 'shop' }
    assert.deepEqual(levels(judge([made])), [])
    for (const container of made.spec?.containers ?? []) delete container.env
    const [finding] = judge([made])
    assert.equal(finding?.level, 'warning')
    assert.match(
      finding?.text ?? '',
      /without the lock of app: another webhook or client .* dropped the field fileKeyRef/,
    )
  })

  test('are older where another version patched them, and only its details differ', () => {
    // As 0.1.0 did it: this path of a probe means something else to the kubelet, and the waiter of that time could not be told.
    const old = asking('old')
    const [app, envoy] = old.spec?.containers ?? []
    assert.ok(app && envoy)
    envoy.readinessProbe = { httpGet: { path: '//foo', port: 80 } }
    const spec =
      '{"v":1,"checks":[{"container":"envoy","check":"http://:80//foo","timeout":"1m","onTimeout":"fail"}],"message":"/dev/termination-log"}'
    const annotations = {
      ...old.metadata?.annotations,
      'kubectl.kubernetes.io/default-container': 'app',
      'sidecar-first.dev/status':
        '{"version":"0.1.0","gate":"hook","tiers":[["envoy"]],"checks":{"envoy":"http://:80//foo"}}',
    }
    const now = patched(old, configuration)
    const [first] = now.spec?.containers ?? []
    assert.ok(first)
    first.lifecycle = { postStart: { exec: { command: ['/.sidecar-first/wait', '--spec', spec] } } }
    now.metadata = { ...old.metadata, annotations }
    const findings = judge([now, sound('new')])
    assert.deepEqual(levels(findings), ['ok'])
    assert.match(findings[0]?.text ?? '', /^1 patched by version 0\.1\.0 /)
    const [, , finding] = explain({
      pod: now as never,
      made: { created: new Date(), renew: 'make it anew' },
      surroundings: { job: false },
      namespace: shop,
      configuration,
      mutating: optIn.mutating,
      validating: undefined,
    })
    assert.deepEqual([finding?.level, /its order is held: version 0\.1\.0/.test(finding?.text ?? '')], ['ok', true])
    // Of this version, or in other tiers, it is another configuration.
    for (const [from, to] of [
      ['"0.1.0"', '"1.0.0"'],
      ['[["envoy"]]', '[["envoy"],["other"]]'],
      ['{"version"', '["version"'],
    ] as const) {
      const status = annotations['sidecar-first.dev/status'].replace(from, to)
      const other: V1Pod = {
        ...now,
        metadata: { ...now.metadata, annotations: { ...annotations, 'sidecar-first.dev/status': status } },
      }
      assert.deepEqual(levels(judge([other])), ['warning'], status)
    }
    assert.deepEqual(levels(judge([{ ...now, spec: { containers: [app, envoy] } }])), ['problem'])
  })

  test('are a problem where the hook is gone and other lifecycle hooks are left', () => {
    const unhooked = sound('z')
    const [first] = unhooked.spec?.containers ?? []
    if (first) first.lifecycle = { preStop: { exec: { command: ['stop'] } } }
    assert.deepEqual(levels(judge([unhooked])), ['problem'])
  })

  test('tell those that were there before the webhook', () => {
    const created = { ...asking('a').metadata, creationTimestamp: new Date('2025-01-01') }
    assert.match(judge([asking('a', created)])[0]?.text ?? '', /created before the webhook/)
    created.creationTimestamp = new Date('2026-02-01')
    assert.match(judge([asking('a', created)])[0]?.text ?? '', /created while no replica answered/)
  })

  test('are a warning where they ask in a namespace that is not covered, and nothing where it opted out', () => {
    const [finding] = judge([asking('a')], namespace('shop'))
    assert.equal(finding?.level, 'warning')
    assert.match(
      finding?.next ?? '',
      /^kubectl label namespace shop --overwrite sidecar-first\.dev\/injection=enabled; then/,
    )
    assert.deepEqual(levels(judge([asking('a')], namespace('shop', { 'sidecar-first.dev/injection': 'disabled' }))), [])
  })

  test('are a warning where they would be refused', () => {
    const pod = asking('a')
    Object.assign(pod.metadata?.annotations ?? {}, { 'sidecar-first.dev/timeout': 'soon' })
    assert.deepEqual(levels(judge([pod])), ['warning'])
  })

  test('are a warning where an enforced rule does not know the mirror that their waiter comes from', async () => {
    const rules = 'rules: [{name: mesh, match: {container: envoy}, tier: 1, enforce: true}]\n'
    const enforced = installation(rules)
    const mirrored = patched(asking('a', ofDeployment('web')), enforced.configuration)
    const [waiter] = mirrored.spec?.initContainers ?? []
    assert.ok(waiter)
    waiter.image = 'mirror.example/hub/waiter:1'
    mirrored.metadata = { ...mirrored.metadata, name: 'a', namespace: 'shop' }
    const judgeBy = ({ configuration, mutating }: typeof enforced) =>
      judgePods(
        [mirrored].flatMap((pod) => judgePod(pod, shop, configuration, mutating.webhooks ?? []) ?? []),
        undefined,
      ).slice(1)
    const [finding, ...others] = judgeBy(enforced)
    assert.deepEqual([finding?.level, others], ['warning', []])
    assert.match(finding?.text ?? '', /^Deployment shop\/web: 1 of 1 pod would be refused .*waiter\.mirrors/)
    assert.deepEqual(judgeBy(installation(`waiter: {mirrors: ["mirror.example/*/waiter"]}\n${rules}`)), [])
    assert.deepEqual(judgeBy(installation(rules.replace(', enforce: true', ''))), [], 'decision 4 goes on')

    const objects = { list: async () => [mirrored], async *items() {} } as unknown as Objects
    const place = { objects, namespaces: [shop], progress: () => undefined }
    const foreseen = async (made: typeof enforced, former?: Configuration) =>
      (await refusedByRules(place, made.configuration, { webhooks: made.mutating.webhooks ?? [], former })).map(
        ({ kind }) => kind,
      )
    assert.deepEqual(await foreseen(enforced), ['pods-would-be-refused'])
    assert.deepEqual(await foreseen(installation(rules.replace(', enforce: true', ''))), [])
    // The image that the former configuration had written: the next pod gets the new one.
    const before = installation('waiter: {image: "mirror.example/hub/waiter:0"}\n').configuration
    assert.deepEqual(await foreseen(enforced, before), [])
  })

  test('are a warning with the entry that lets them by, where something starts in front of an enforced sidecar', () => {
    const { configuration, mutating } = installation(
      'rules: [{name: egress, match: {container: envoy}, tier: 1, enforce: true}]\n',
    )
    const pod = asking('a', ofDeployment('web'))
    const proxy = { name: 'istio-proxy', image: 'docker.io/istio/proxyv2:1.27.1', restartPolicy: 'Always' }
    Object.assign(pod.spec ?? {}, { initContainers: [proxy] })
    const judgeBy = (by: typeof configuration) =>
      judgePods([judgePod(pod, shop, by, mutating.webhooks ?? []) ?? []].flat(), undefined).slice(1)
    const entry = 'enforced: {inFront: [{container: istio-proxy, image: "docker.io/istio/proxyv2"}]}'
    assert.ok(judgeBy(configuration)[0]?.text.endsWith(`; this would let by what runs: ${entry}`))
    const mended = installation(
      `${entry}\nrules: [{name: egress, match: {container: envoy}, tier: 1, enforce: true}]\n`,
    )
    assert.doesNotMatch(judgeBy(mended.configuration)[0]?.text ?? '', /refused/)
  })

  test('are seen by the webhook of their namespace, with its rules', () => {
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
    test(what, () => {
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
        validating: undefined,
      })
      const found = findings.find(({ text }) => says.test(text))
      assert.equal(found?.level, level, findings.map(({ level, text }) => `${level} ${text}`).join('\n'))
    })
  }

  test('names the rule of a container, and no price as a warning', () => {
    const { configuration, mutating } = installation('rules: [{name: mesh, tier: 1, match: {container: envoy}}]\n')
    const pod = asking('a', { annotations: {} }) as never
    const findings = explain({
      pod,
      made: undefined,
      surroundings: { job: false },
      namespace: shop,
      configuration,
      mutating,
      validating: undefined,
    })
    assert.deepEqual(
      findings.map(({ level, text }) => `${level}: ${text}`),
      ['ok: the rule mesh makes envoy a sidecar', 'ok: its pods start envoy (rule mesh), before app'],
    )
  })
})

describe('an owner', () => {
  test('is believed only by a name that Kubernetes would give: it stands in a command to paste', () => {
    const controller = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'x; reboot', uid: 'u', controller: true }
    const pod = asking('a', { ...asking('a').metadata, ownerReferences: [controller] })
    assert.deepEqual(ownerOf(pod), { kind: 'Pod', namespace: 'shop', name: 'a' })
  })
})

describe('a subject', () => {
  test('is named as kubectl names it', () => {
    assert.equal(parseSubject('pod/a')?.kind.kind, 'Pod')
    assert.equal(parseSubject('deploy/a.b-1')?.name, 'a.b-1')
    assert.equal(parseSubject('cj/a')?.kind.surroundings.job, true)
    for (const text of ['a', 'pod/', 'pod/A', 'node/a', 'pod/a/b']) assert.equal(parseSubject(text), undefined, text)
  })

  test('has its template wherever its kind keeps it', () => {
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
  test('has what to do below each finding, and counts them', () => {
    const findings = [{ code: 'SF501', level: 'problem', text: 'it is broken', next: 'mend it' }] as const
    const checked = [
      { name: 'first', findings },
      { name: 'second', findings: [{ code: 'SF501', level: 'ok', text: 'fine' }] as const },
    ]
    const text = textReport(checked, { width: 100, color: false, unicode: false, terminal: false })
    assert.equal(
      text,
      'problem  first   SF501 it is broken\n                 -> mend it\nok       second  SF501 fine\n\n1 problem, no warnings\n',
    )
  })

  test('as JSON: code and severity of each finding, and where in the workload it is', async () => {
    const template = {
      metadata: { annotations: { 'sidecar-first.dev/sidecars': 'bare', 'sidecar-first.dev/timout': '5s' } },
    }
    const spec = { containers: [{ name: 'app' }, { name: 'bare' }] }
    const web = {
      metadata: { name: 'web', namespace: 'shop', annotations: { 'sidecar-first.dev/gate': 'native' } },
      spec: { template: { ...template, spec } },
    }
    const read = async ({ kind }: { kind?: string }) => (kind === 'Namespace' ? shop : web)
    const ok = <T>(value: T) => ({ ok: true, value }) as const
    const installed = {
      ...optIn,
      mutating: ok(optIn.mutating),
      validating: ok(optIn.validating),
      workloads: ok(undefined),
    }
    const live = { read: { ok: true, configuration } }
    const findings = await examineOne(
      {
        objects: { read, async *items() {} } as unknown as Objects,
        installed: { ...installed, configuration: ok(live) } as unknown as Installed,
        version: '1.0.0',
        now: () => 0,
      },
      { ...(parseSubject('deploy/web') ?? assert.fail()), namespace: 'shop' },
    )
    const told = JSON.parse(jsonReport([{ name: 'shop/web', findings }])).findings
    for (const each of told) {
      assert.equal(each.severity, each.level)
      assert.match(each.code, /^SF\d{3}$/)
    }
    assert.deepEqual(
      told.flatMap(({ code, path }: { code: string; path?: string }) =>
        path === undefined ? [] : [`${code} ${path}`],
      ),
      [
        'SF204 spec.template.spec.containers[1].name',
        'SF220 spec.template.metadata.annotations[sidecar-first.dev/timout]',
        'SF223 metadata.annotations[sidecar-first.dev/gate]',
      ],
    )
  })

  test('says once what keeps several checks from looking', () => {
    const why = (message: string) => [{ kind: 'not-looked-at', obstacle: { kind: 'call-failed', message } }] as const
    const all = toldOnce([
      { name: 'a', findings: why('403') },
      { name: 'b', findings: why('404') },
      { name: 'c', findings: why('403') },
    ])
    assert.deepEqual(
      all.map(({ findings: [finding] }) => finding && told(finding).text),
      ['not looked at: 403', 'not looked at: 404', 'not looked at, for the same reason as a'],
    )
  })

  test('says once what several findings in a row ask for', () => {
    const [one, two, three] = ['a', 'a', 'b'].map(
      (next) => ({ code: 'SF501', level: 'problem', text: 'it is broken', next }) as const,
    )
    assert.ok(one && two && three)
    const text = textReport([{ name: 'x', findings: [one, two, three, one] }], {
      width: 100,
      color: false,
      unicode: false,
      terminal: false,
    })
    assert.deepEqual(
      [...text.matchAll(/-> (.)/g)].map(([, next]) => next),
      ['a', 'b', 'a'],
    )
  })

  test('has nothing of a pod that would write to the terminal', () => {
    const findings = [{ code: 'SF501', level: 'ok', text: 'sidecars: \u001b]0;title\u0007' }] as const
    const text = textReport([{ name: 'a', findings }], { width: 100, color: false, unicode: true, terminal: false })
    assert.doesNotMatch(text, /\p{Cc}(?<!\n)/u)
  })
})
