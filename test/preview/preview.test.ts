import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { preview, previewResult } from '../../src/preview/preview.ts'
import { faultText } from '../../src/preview/problems.ts'

const configuration = defaultConfiguration('0.0.0')

const spec = {
  containers: [
    { name: 'app', image: 'app:1' },
    { name: 'proxy', image: 'proxy:1', readinessProbe: { httpGet: { path: '/ready', port: 15021 } } },
  ],
}
const template = { metadata: { annotations: { 'sidecar-first.dev/sidecars': 'proxy' } }, spec }
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  ...template,
  metadata: { ...template.metadata, name: 'p', namespace: 'n' },
}

function results(...objects: unknown[]) {
  const previewed = preview(objects.map((object) => JSON.stringify(object)).join('\n---\n'), configuration)
  assert(previewed.ok, JSON.stringify(previewed))
  return previewed.previews.map((each) => previewResult(each))
}

function problems(...objects: unknown[]): string[] {
  const previewed = preview(objects.map((object) => JSON.stringify(object)).join('\n---\n'), configuration)
  assert(!previewed.ok, 'it was previewed')
  return previewed.problems.map(({ document, fault }) => `${document} ${faultText(fault)}`)
}

test('a pod: what, why, the tiers with durations as text, the patch and what comes of it', () => {
  const [result] = results(pod)
  assert(result)
  const { patch, purposes, patched, reasons, messages, warnings, costs, start, end, gates, ...rest } = result
  assert.deepEqual(
    gates.map(({ form, sidecars }) => [form, ...sidecars]),
    [['hook', 'proxy']],
  )
  assert.deepEqual(rest, {
    ...{ apiVersion: 'v1', kind: 'Pod', namespace: 'n', name: 'p', verdict: 'patched' },
    awaits: [],
    tiers: [[{ name: 'proxy', check: 'http://:15021/ready', timeout: '1m', onTimeout: 'fail' }]],
  })
  assert.equal(purposes.length, patch.length)
  assert(reasons.length > 0)
  assert.match(warnings.join(), /^the waiter adds an emptyDir/)
  assert.deepEqual(costs, warnings)
  assert.deepEqual(
    messages.map(({ code, severity, text }) => [code, severity, text]),
    [['SF219', 'note', warnings[0]]],
  )
  const move = patch.find(({ op }) => op === 'move')
  assert.deepEqual(move, { op: 'move', from: '/spec/containers/1', path: '/spec/containers/0' })
  assert.match(JSON.stringify(patched), /"containers":\[\{"name":"proxy".*"postStart"/)
  assert.deepEqual(
    start?.with.map(({ name }) => name),
    ['sidecar-first-waiter', 'proxy', 'app'],
  )
  const [again] = results(patched)
  assert.equal(again?.verdict, 'unchanged')
  assert.deepEqual(again?.patch, [])
  assert.deepEqual(again?.patched, patched)
})

test('costs are those of the warnings that only name a price', () => {
  const [{ warnings, costs } = {}] = results({ ...pod, spec: { ...spec, restartPolicy: 'Never' } })
  assert.match(warnings?.join('\n') ?? '', /^restartPolicy is Never.*\nthe waiter adds an emptyDir/)
  assert.deepEqual(costs, warnings?.slice(1))
  assert.deepEqual(results({ kind: 'Secret' })[0]?.costs, [])
})

test('a key on the workload instead of its pods is told, with its place; on both it is right', () => {
  const { metadata } = template
  const [misplaced, ...right] = results(
    { kind: 'CronJob', metadata, spec: { jobTemplate: { spec: { template: { spec } } } } },
    { kind: 'Deployment', metadata, spec: { template } },
    pod,
  )
  assert.equal(misplaced?.verdict, 'skipped')
  assert.deepEqual(misplaced.warnings, [
    'sidecar-first.dev/sidecars has no effect on the CronJob itself: write it in spec.jobTemplate.spec.template.metadata.annotations',
  ])
  assert.deepEqual(misplaced.costs, [])
  assert.doesNotMatch(right.flatMap(({ warnings }) => warnings).join(), /no effect/)
})

test('the key as a label is told', () => {
  const labelled = { metadata: { labels: { 'sidecar-first.dev/sidecars': 'envoy' } }, spec }
  const places = results({ kind: 'Pod', ...labelled }, { kind: 'Deployment', spec: { template: labelled } })
  assert.deepEqual(
    places.flatMap(({ warnings }) => warnings),
    ['', 'spec.template.'].map(
      (place) => `sidecar-first.dev/sidecars has no effect as a label: write it in ${place}metadata.annotations`,
    ),
  )
})

test('the pod template of every kind that has one, with paths from its root', () => {
  const cases: [string, object, string][] = [
    ...['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'ReplicationController', 'Rollout'].map(
      (kind): [string, object, string] => [kind, { spec: { template } }, '/spec/template'],
    ),
    ['CronJob', { spec: { jobTemplate: { spec: { template } } } }, '/spec/jobTemplate/spec/template'],
    ['PodTemplate', { template }, '/template'],
  ]
  for (const [kind, body, path] of cases) {
    const [result] = results({ apiVersion: 'x/v1', kind, metadata: { generateName: 'g-' }, ...body })
    assert.equal(result?.verdict, 'patched', kind)
    assert.equal(result?.name, 'g-*')
    for (const operation of result?.patch ?? []) {
      assert(operation.path.startsWith(`${path}/`), operation.path)
      if (operation.op === 'move') assert(operation.from.startsWith(`${path}/`))
    }
    const isJob = kind === 'Job' || kind === 'CronJob'
    assert.equal(
      result?.warnings.some((warning) => /\bJob\b/.test(warning)),
      isJob,
      result?.warnings.join(),
    )
  }
})

test('kinds without a pod template are skipped and come back as they were', () => {
  const others = [
    { kind: 'ConfigMap', data: { template: 'x' } },
    { kind: 'Deployment', spec: { template: { spec: {} } } },
    { kind: 'Deployment' },
    { kind: 'Service', spec: null },
  ]
  for (const [index, result] of results(...others).entries()) {
    assert.equal(result.verdict, 'skipped')
    assert.deepEqual(result.reasons, [`a ${others[index]?.kind} has no pod template`])
    assert.deepEqual(result.patched, others[index])
  }
})

test('lists are taken apart, one in the other, in order; typed lists say the kind of their items', () => {
  const { apiVersion: _a, kind: _k, ...bare } = pod
  const inner = { kind: 'PodList', apiVersion: 'v1', items: [bare, { ...bare, metadata: { name: 'q' } }] }
  const list = { kind: 'List', apiVersion: 'v1', items: [{ kind: 'Secret' }, inner, pod] }
  assert.deepEqual(
    results(list).map(({ apiVersion, kind, name, verdict }) => [apiVersion, kind, name, verdict]),
    [
      ['v1', 'Secret', '', 'skipped'],
      ['v1', 'Pod', 'p', 'patched'],
      ['v1', 'Pod', 'q', 'skipped'],
      ['v1', 'Pod', 'p', 'patched'],
    ],
  )
  assert.deepEqual(results({ kind: 'List', items: [] }), [])
})

test('an AdmissionReview stands for its object', () => {
  const request = { namespace: 'r', object: { ...pod, kind: undefined, metadata: template.metadata } }
  const review = {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { ...request, kind: { group: '', version: 'v1', kind: 'Pod' } },
  }
  const [result] = results(review)
  assert.equal(result?.namespace, 'r')
  assert.equal(result?.kind, 'Pod')
  assert(result?.patch.some(({ path }) => path === '/spec/containers/0'))
  assert.deepEqual(problems({ ...review, request: {} }), ['1 the AdmissionReview has no request.object'])
})

test('a quoted template is YAML, but no name has braces; elsewhere they may be somebody else’s', () => {
  const name = '{{ .Values.name }}'
  const helm = '1 this is a Helm template; render it first: helm template RELEASE CHART'
  assert.deepEqual(problems({ kind: 'Pod', metadata: { name } }), [helm])
  assert.equal(results({ kind: 'ConfigMap', metadata: { name: 'a' }, data: { rule: name } })[0]?.verdict, 'skipped')
})

test('what has no kind is named; nothing else is previewed then', () => {
  assert.deepEqual(problems(pod, { spec: {} }, { kind: 'List', items: [pod, { a: 1 }, 'x'] }), [
    '2 the document has no kind',
    '3 items.1 has no kind',
    '3 items.2 is not an object',
  ])
})

test('annotations that make no sense refuse the object, and it has no patched form', () => {
  const wrong = { ...pod, metadata: { annotations: { 'sidecar-first.dev/sidecars': 'a,,b' } } }
  const [result, other] = results(wrong, pod)
  assert.equal(result?.verdict, 'refused')
  assert.deepEqual([result?.patch, result?.tiers, result && 'patched' in result], [[], [], false])
  assert.equal(other?.verdict, 'patched')
})

test('what surrounds a pod template says how long its pods may take', () => {
  const patient = (seconds: number) => ({
    ...template,
    metadata: { annotations: { ...template.metadata.annotations, 'sidecar-first.dev/timeout': `${seconds}s` } },
  })
  const warnings = (object: object) => results(object)[0]?.warnings.join('\n') ?? ''
  const deployment = (seconds: number, spec: object = {}) => ({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
    spec: { ...spec, template: patient(seconds) },
  })
  const job = (spec: object) => ({ kind: 'Job', spec: { ...spec, template: patient(60) } })
  assert.match(warnings(deployment(60, { progressDeadlineSeconds: 30 })), /after progressDeadlineSeconds \(30s\)/)
  assert.doesNotMatch(warnings(deployment(600)), /progressDeadlineSeconds/)
  assert.match(warnings(job({ activeDeadlineSeconds: 30 })), /after activeDeadlineSeconds \(30s\)/)
  const cron = { kind: 'CronJob', spec: { jobTemplate: job({ activeDeadlineSeconds: 30 }) } }
  assert.match(warnings(cron), /after activeDeadlineSeconds \(30s\)/)
  assert.doesNotMatch(warnings({ ...deployment(60, { progressDeadlineSeconds: 30 }), kind: 'Rollout' }), /Deadline/)
})
