import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { decide } from '../../src/admission/decide.ts'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { podTemplate } from '../../src/admission/pod/template.ts'
import { suggest, withAnnotations } from '../../src/admission/suggest/suggest.ts'
import { readManifests } from '../../src/preview/manifests.ts'
import { create, createNamespace, deleteNamespaces, type KubernetesObject } from './cluster.ts'
import { app, type Container, firstLineOf, logOf, markOf, podSpec, sidecar } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

// Pods as injectors make them, each with the lines that are suggested for it. Stand-ins have the names, places, probes and ports of the real
// containers, and answer after a while what theirs answer when they are ready; Dapr's never answers /v1.0/healthz, which waits for its app.
const names = [
  'bookinfo-injected',
  'cloud-sql',
  'cloud-sql-health',
  'cloud-sql-operator',
  'consul',
  'dapr',
  'dapr-and-cloud-sql',
  'istio',
  'job',
  'kuma',
  'linkerd-no-await',
  'native-without-probe',
  'opentelemetry',
  'vault-late',
] as const

describe('a pod with the suggested lines starts in order', () => {
  const namespace = 'suggest'
  const cases = names.map((name) => ({ name, ...suggested(name, namespace) }))
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('suggest')
    await createNamespace(namespace, { test: 'suggest' })
    await create(...cases.map(({ object }) => object))
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  for (const { name, sidecars, apps } of cases) {
    test(name, async () => {
      for (const each of apps) {
        const log = await logOf(namespace, name, each)
        for (const [index, sidecar] of sidecars.entries()) {
          const ready = markOf(log, sidecar, 'ready')
          const next = sidecars[index + 1]
          assert.ok(firstLineOf(log, each) >= ready, `${each} before ${sidecar} was ready`)
          if (next !== undefined) assert.ok(markOf(log, next, 'started') >= ready, `${next} before ${sidecar}`)
        }
      }
    })
  }
})

/** The object of a fixture with the suggested lines and stand-ins; its sidecars in their order, and its apps. */
function suggested(name: string, namespace: string) {
  const file = join(import.meta.dirname, `../admission/suggest/pods/${name}.yaml`)
  const manifests = readManifests(readFileSync(file, 'utf8'))
  const value = manifests.ok ? manifests.documents[0]?.value : undefined
  const template = value && podTemplate({ kind: String(value.kind), value })
  assert.ok(template)
  const configuration = defaultConfiguration('test')
  const suggestion = suggest(template.pod, { configuration, surroundings: template.surroundings })
  assert.equal(suggestion?.kind, 'mend')
  const said = withAnnotations(template.pod, suggestion.lines)
  const decision = decide(said, configuration, template.surroundings)
  assert.ok('tiers' in decision)
  const checks = new Map(decision.tiers.flat().map((planned) => [planned.name, planned.check]))

  const {
    containers,
    initContainers = [],
    ...spec
  } = said.spec as {
    containers: Container[]
    initContainers?: Container[]
  }
  const stand = (container: Container): Container => {
    const { args: _args, command: _command, env: _env, image: _image, ...rest } = container
    const check = checks.get(container.name)
    return check === undefined ? { ...rest, ...app(), name: container.name } : { ...rest, ...standIn(rest, check) }
  }
  const pod = {
    metadata: said.metadata as { annotations: Record<string, string> },
    spec: podSpec(containers.map(stand), {
      ...spec,
      initContainers: initContainers.map((each) =>
        each.restartPolicy === 'Always' ? stand(each) : { ...app('true'), name: each.name },
      ),
      volumes: [{ name: 'secrets', emptyDir: {} }],
    }),
  }
  const metadata = { name, namespace }
  const isJob = value?.kind === 'Job'
  const object: KubernetesObject = isJob
    ? { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { template: pod } }
    : { apiVersion: 'v1', kind: 'Pod', ...pod, metadata: { ...pod.metadata, ...metadata } }
  const apps = containers.map(({ name }) => name).filter((each) => !checks.has(each))
  return { object, sidecars: [...checks.keys()], apps }
}

/** A test sidecar that after some seconds answers its check, and not before. */
function standIn({ name }: Container, check: string): Container {
  const { protocol, port, pathname } = new URL(check.replace(/^(\w+):\/\/:/, '$1://localhost:'))
  const late = { READY_AFTER: '6s' }
  switch (protocol) {
    case 'http:':
      return sidecar(name, { ...late, HTTP: `:${port}`, ...(pathname !== '/ready' && { PATHS: pathname }) })
    case 'tcp:':
      return sidecar(name, { ...late, TCP: `:${port}` })
    case 'file:':
      return sidecar(
        name,
        { ...late, FILE: pathname },
        { volumeMounts: [{ name: 'secrets', mountPath: '/vault/secrets' }] },
      )
    default:
      throw new Error(`no stand-in for ${check}`)
  }
}
