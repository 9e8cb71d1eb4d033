import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { decide } from '../../../src/admission/decide.ts'
import { defaultConfiguration } from '../../../src/admission/intent/configuration.ts'
import { podTemplate } from '../../../src/admission/pod/template.ts'
import { type Suggestion, suggest, withAnnotations } from '../../../src/admission/suggest/suggest.ts'
import { knownText, todayText, whyText } from '../../../src/admission/suggest/words.ts'
import { textOf } from '../../../src/admission/words/messages.ts'
import { readManifests } from '../../../src/preview/manifests.ts'
import { namespaceOf, namespacesOf } from '../../../src/preview/namespace.ts'
import { objectsOf } from '../../../src/preview/objects.ts'
import { type Container, configuration, type Fields, pod } from '../pods.ts'

/** Pods as injectors make them, each with what is suggested. UPDATE_GOLDEN=1 writes what is missing or stale. */
const folder = join(import.meta.dirname, 'pods')
const names = globSync('*.yaml', { cwd: folder })
  .map((file) => file.replace(/\.yaml$/, ''))
  .sort()

for (const name of names) {
  const template = read(name)
  const context = { configuration, surroundings: template.surroundings }
  const suggestion = suggest(template.pod, context)

  test(`${name} gets the suggestion of its golden file`, () => {
    const file = join(folder, `${name}.txt`)
    const text = shown(suggestion)
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, text)
    assert.equal(text, readFileSync(file, 'utf8'))
  })

  if (suggestion?.kind !== 'mend' && suggestion?.kind !== 'faster') continue
  test(`${name} with the lines is planned as they say, and gets no second suggestion`, () => {
    const said = withAnnotations(template.pod, suggestion.lines)
    const decision = decide(said, configuration, template.surroundings)
    const isThere = suggestion.sidecars.some(({ container, holds }) => container !== undefined && !holds)
    const there = isThere && suggestion.lines.length > 0
    if (suggestion.kind === 'mend' && there) assert.equal(decision.verdict, 'patched')
    const bad = decision.warnings.filter(({ kind }) => kind === 'deadlock' || kind === 'never-ready')
    assert.deepEqual(bad, [])
    if (suggestion.kind === 'mend' && suggestion.conditional.length === 0 && there && !unasked.has(name)) {
      assert.ok('tiers' in decision && decision.tiers.flat().every(({ kind }) => kind !== 'none'), 'all are waited for')
    }
    const whole = withAnnotations(template.pod, [...suggestion.lines, ...conditionalOf(suggestion)])
    assert.ok(['asked', undefined].includes(suggest(whole, context)?.kind))
  })
}

/** The pods whose sidecar can't be waited for with what is known. */
const unasked: ReadonlySet<string> = new Set(['envoy-and-no-port'])

const conditionalOf = (suggestion: Suggestion) => (suggestion.kind === 'mend' ? suggestion.conditional : [])

function read(name: string) {
  const manifests = readManifests(readFileSync(join(folder, `${name}.yaml`), 'utf8'))
  const found = manifests.ok ? objectsOf(manifests) : undefined
  assert.ok(found?.ok)
  const namespaces = namespacesOf(found.objects)
  const [template] = found.objects.flatMap((object) => {
    const around = namespaces.get(namespaceOf(object))
    const { pod, surroundings } = podTemplate(object) ?? {}
    return pod && surroundings ? [{ pod, surroundings: { ...surroundings, ...(around && { namespace: around }) } }] : []
  })
  assert.ok(template !== undefined, name)
  return template
}

function shown(suggestion: Suggestion | undefined): string {
  if (suggestion === undefined) return 'nothing known\n'
  const lines = 'lines' in suggestion ? suggestion.lines : []
  const conditional = 'conditional' in suggestion ? suggestion.conditional : []
  return [
    suggestion.kind,
    ...suggestion.sidecars.map((known) => `today: ${knownText(known)}: ${todayText(known)}`),
    ...lines.map(({ key, value, why }) => `add: ${key}: ${value} # ${whyText(why)}`),
    ...conditional.map(({ key, value, why }) => `perhaps: ${key}: ${value} # ${whyText(why)}`),
    ...('why' in suggestion ? suggestion.why.map((why) => `why: ${textOf(why)}`) : []),
    '',
  ].join('\n')
}

const context = { configuration, surroundings: { job: false } }
const web: Container = { name: 'web', image: 'web' }

describe('what anyone may have written', () => {
  test('isn’t a pod', () => {
    for (const value of [null, 1, 'pod', [], {}, { spec: 1 }, { spec: { containers: 'x' } }, { metadata: [] }]) {
      assert.equal(suggest(value, context), undefined)
    }
  })

  test('names that no annotation can hold are never suggested', () => {
    const hostile = ['envoy\u001b[31m', 'a, b', 'x'.repeat(100), '', '../envoy', 'ENVOY']
    for (const name of hostile) {
      assert.equal(suggest(pod({}, [web, { name, image: 'envoyproxy/envoy:1' }]), context), undefined, name)
    }
  })

  test('the file names of secrets are written only if they are plain', () => {
    const of = (file: string) => {
      const annotations = {
        'vault.hashicorp.com/agent-inject-secret-db': 'x',
        'vault.hashicorp.com/agent-inject-file-db': file,
      }
      const found = suggest(pod(annotations, [web, { name: 'vault-agent', image: 'v' }]), context)
      return found?.kind === 'mend' ? found.lines.map(({ value }) => value) : undefined
    }
    assert.deepEqual(of('db.pem'), ['vault-agent', 'file:///vault/secrets/db.pem'])
    for (const file of ['a b', '../../etc/passwd/', '$(rm)', 'x'.repeat(1000), 'a\nb']) {
      assert.deepEqual(of(file), ['vault-agent'], file)
    }
  })

  test('512 containers, all of them known, are suggested in one line', () => {
    const many = Array.from({ length: 511 }, (_, index) => ({
      name: `c${index}`,
      image: 'envoyproxy/envoy:1',
      readinessProbe: { tcpSocket: { port: 1000 + index } },
    }))
    const found = suggest(pod({}, [web, ...many]), context)
    assert.equal(found?.kind, 'mend')
    assert.equal(found?.sidecars.length, 511)
    assert.equal(suggest(pod({}, [web, ...many, web]), context), undefined, 'one more isn’t looked at')
  })
})

test('native sidecars are listed before regular ones, in the order that they have', () => {
  const native = (name: string, image: string): Fields => ({
    name,
    image,
    restartPolicy: 'Always',
    readinessProbe: { tcpSocket: { port: 1 } },
  })
  const regular = { name: 'vault-agent', image: 'v' }
  const object = pod({}, [web, regular], {
    initContainers: [native('daprd', 'daprio/daprd'), native('envoy', 'envoy')],
  })
  const found = suggest(object, context)
  assert.equal(found?.kind === 'mend' && found.lines[0]?.value, 'daprd, envoy, vault-agent')
})

test('a cluster without native sidecars isn’t told to use them', () => {
  const old = { ...defaultConfiguration('0'), kubernetesVersion: { major: 1, minor: 28 } }
  const object = pod({}, [web, { name: 'envoy', readinessProbe: { tcpSocket: { port: 1 } } }])
  const lines = (configuration: typeof old) => {
    const found = suggest(object, { configuration, surroundings: { job: true } })
    return found?.kind === 'mend' ? found.lines.map(({ key }) => key) : []
  }
  assert.deepEqual(lines(old), ['sidecar-first.dev/sidecars'])
  assert.deepEqual(lines({ ...old, kubernetesVersion: { major: 1, minor: 29 } }), [
    'sidecar-first.dev/sidecars',
    'sidecar-first.dev/gate',
  ])
})

test('a check that the configuration forbids in annotations isn’t suggested, nor an order that nothing would hold', () => {
  const strict = { ...configuration, annotations: { checks: new Set(['probe'] as const) } }
  const object = pod({}, [web, { name: 'cloud-sql-proxy', args: ['--port=5432'] }])
  const found = suggest(object, { ...context, configuration: strict })
  assert.match(found?.kind === 'none' ? found.why.map(textOf).join() : '', /check\.sidecar-first\.dev\/cloud-sql-proxy/)
})

test('a pod that sidecar-first has patched asks already, and its sidecar is held by us', () => {
  const object = pod({ sidecars: 'envoy' }, [web, { name: 'envoy', readinessProbe: { tcpSocket: { port: 1 } } }])
  const decision = decide(object, configuration)
  assert.equal(decision.verdict, 'patched')
  const found = suggest(object, context)
  assert.equal(found?.kind, 'asked')
})

test('a sidecar that is listed without a check gets the one that its container is known to answer', () => {
  const sql = { name: 'cloud-sql-proxy', args: ['--health-check'] }
  const lines = (annotations: Fields, container: Container) => {
    const found = suggest(pod(annotations, [web, container]), context)
    if (found?.kind !== 'mend') return found?.kind
    const shown =
      (mark: string) =>
      ({ key, value }: { key: string; value: string }) =>
        `${mark}${key}: ${value}`
    return [...found.lines.map(shown('')), ...found.conditional.map(shown('perhaps '))]
  }
  const sidecars = sql.name
  assert.deepEqual(lines({ sidecars }, sql), ['check.sidecar-first.dev/cloud-sql-proxy: http://:9090/startup'])
  assert.equal(lines({ sidecars, 'check/cloud-sql-proxy': 'none' }, sql), 'asked', 'it says so itself')
  const perhaps = ['perhaps check.sidecar-first.dev/cloud-sql-proxy: http://:9090/startup']
  assert.deepEqual(lines({ sidecars }, { ...sql, args: [] }), perhaps, 'its health may be off')
  assert.equal(lines({ sidecars: 'x' }, { name: 'x' }), 'asked', 'nothing is known to answer')
  assert.equal(lines({ sidecars }, { ...sql, readinessProbe: { tcpSocket: { port: 1 } } }), 'asked')
})
