import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { preview, previewResult } from '../../src/preview/preview.ts'

const folder = join(import.meta.dirname, '../golden')
const configuration = defaultConfiguration('0.0.0')
const withLock = { ...configuration, defaults: { ...configuration.defaults, lock: 'on' as const } }

function resultOf(text: string, under = configuration) {
  const previewed = preview(text, under)
  assert(previewed.ok)
  const [first] = previewed.previews
  assert(first)
  return previewResult(first)
}

/** `path: purpose` */
const lines = (text: string, under = configuration) => {
  const { patch, purposes } = resultOf(text, under)
  return patch.map(({ path }, index) => `${path}: ${purposes[index]}`)
}

const deployment = `kind: Deployment
spec:
  template:
    metadata:
      annotations: {sidecar-first.dev/sidecars: proxy}
    spec:
      containers:
      - name: app
      - name: proxy
        readinessProbe: {tcpSocket: {port: 1}}
`

test('each operation says what it is for, with the containers that it names', () => {
  assert.deepEqual(lines(deployment), [
    '/spec/template/spec/initContainers: copies the waiter, which the hooks run, into the pod before anything starts',
    '/spec/template/spec/containers/0: starts proxy where the order wants it: containers start in the order of their list',
    '/spec/template/spec/containers/0/lifecycle: holds back what comes next until proxy is ready',
    '/spec/template/spec/containers/0/volumeMounts: lets the hook of proxy run the waiter',
    '/spec/template/spec/volumes: holds the waiter',
    '/spec/template/metadata/annotations/kubectl.kubernetes.io~1default-container: keeps the app as the container that kubectl logs and exec mean',
    '/spec/template/metadata/annotations/sidecar-first.dev~1status: says what was done, for people and for sidecar-first check',
  ])
})

test('natively, and with the lock', () => {
  const native = deployment.replace('proxy}', 'proxy, sidecar-first.dev/gate: native, sidecar-first.dev/lock: "on"}')
  const said = lines(native, withLock).join('\n')
  for (const what of [
    'makes proxy a native sidecar',
    'keeps proxy running as a native sidecar',
    'lets the hook of proxy open the lock',
    "locks app: the kubelet can't create it before its sidecars are ready",
    'holds the lock',
  ]) {
    assert(said.includes(what), `${what}\n${said}`)
  }
})

test('with end: last, also where it is taken back', () => {
  const last = deployment.replace('proxy}', 'proxy, sidecar-first.dev/end: last}')
  const ends = [
    '/0/lifecycle: holds back what comes next until proxy is ready; when the pod ends, holds proxy until app has ended',
    '/1/lifecycle: shows the others when app has ended',
    '/0/volumeMounts: lets the hook of proxy run the waiter',
    '/1/volumeMounts: lets the hook of app run the waiter',
    '/0/volumeMounts/-: lets the hook of proxy see or show who has ended',
    '/1/volumeMounts/-: lets the hook of app see or show who has ended',
    '/volumes/-: holds what shows who has ended',
  ]
  const said = lines(last).join('\n')
  for (const what of ends) assert(said.includes(what), `${what}\n${said}`)
  const { patched } = resultOf(
    last.replace('- name: app', '- {name: app, lifecycle: {preStop: {exec: {command: [drain]}}}}'),
  )
  const back = lines(JSON.stringify(patched).replace('end":"last', 'end":"together')).join('\n')
  assert(back.includes('/1/lifecycle/preStop: runs when the pod ends, before app is stopped'), back)
  assert(back.includes('/0/lifecycle/preStop: proxy needs this hook no longer'), back)
})

test('every operation of every golden pod has a purpose that fits its path', () => {
  const fitting: [RegExp, RegExp][] = [
    [/^\/metadata/, /says what was done|keeps the app/],
    [/\/env(?:\/|$)/, /^locks |^removes a variable/],
    [/\/volumes(?:\/|$)/, /^holds (?:the (?:waiter|lock)|what shows)/],
    [/\/volumeMounts(?:\/|$)/, /run the waiter|open the lock|who has ended/],
    [/\/lifecycle/, /holds back|nothing else starts|no longer|ha(?:s|ve) ended|before .+ is stopped/],
    [/\/startupProbe/, /startupProbe|every second|same time|from its start/],
    [/\/restartPolicy$/, /^keeps .+ running/],
    [/\/command$/, /^closes the lock/],
    [/Containers(?:\/\d+)?$|containers(?:\/\d+)?$/, /^copies the waiter|^makes |^starts /],
  ]
  let operations = 0
  for (const file of globSync('**/*.yaml', { cwd: folder })) {
    const text = readFileSync(join(folder, file), 'utf8')
    for (const under of [configuration, withLock]) {
      const { patch, purposes } = resultOf(text, under)
      assert.equal(purposes.length, patch.length, file)
      for (const [index, { path }] of patch.entries()) {
        operations++
        const [, pattern] = fitting.find(([place]) => place.test(path)) ?? assert.fail(`${file}: ${path}`)
        assert.match(purposes[index] ?? '', pattern, `${file}: ${path}`)
        assert.doesNotMatch(purposes[index] ?? '', /undefined| {2}/, `${file}: ${path}`)
      }
    }
  }
  assert(operations > 300, String(operations))
})
