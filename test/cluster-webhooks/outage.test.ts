import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfiguration } from '../../src/configuration/read.ts'
import { type InstallMode, webhookConfigurations } from '../../src/webhooks/configurations.ts'
import { type Container, type Pod, pod, ready } from '../admission/pods.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { startServe } from '../server/process.ts'
import { put, talkTo } from './cluster.ts'

// What an outage means, on a real API server that calls a real sidecar-first, which is then stopped.
let api: ApiServer
let cluster: ReturnType<typeof talkTo>
let folder: string
before(async () => {
  api = await startApiServer()
  cluster = talkTo(api)
  folder = await mkdtemp(join(tmpdir(), 'sidecar-first-outage-'))
  await writeFile(join(folder, 'tls.crt'), api.pair.certificate)
  await writeFile(join(folder, 'tls.key'), api.pair.key)
  const enabled = { 'sidecar-first.dev/injection': 'enabled' }
  await cluster.namespace('plain', enabled)
  await cluster.namespace('team', { ...enabled, team: 'a' })
})
after(async () => {
  cluster?.close()
  await api?.stop()
  if (folder) await rm(folder, { recursive: true })
})

const container = (name: string): Container => ({ name, image: name, readinessProbe: ready })
const app: Container = { name: 'app', image: 'app' }
const pods = {
  'no rule': pod({}, [app]),
  annotated: pod({ sidecars: 'own' }, [app, container('own')]),
  optional: pod({}, [app, container('optional')]),
  enforced: pod({}, [app, container('enforced')]),
  'optional for a team': pod({}, [app, container('team-optional')]),
  'enforced for a team': pod({}, [app, container('team-enforced')]),
  'enforced, opted out': pod({ inject: 'false' }, [app, container('enforced')]),
  'enforced and annotated': pod({ sidecars: 'own' }, [app, container('own'), container('enforced')]),
} as const satisfies Record<string, Pod>

const team = 'namespaceSelector: {matchLabels: {team: a}}'
const configured = (failurePolicy: string) => `apiVersion: sidecar-first.dev/v1
kind: Configuration
enforced: {failurePolicy: ${failurePolicy}}
rules:
- {name: optional, match: {container: optional}, tier: 1}
- {name: enforced, match: {container: enforced}, tier: 1, enforce: true}
- {name: team optional, match: {container: team-optional, ${team}}, tier: 1}
- {name: team enforced, match: {container: team-enforced, ${team}}, tier: 1, enforce: true}
`

let count = 0
async function create(given: Pod, namespace: string): Promise<{ status: number; message: string; first: string }> {
  const metadata = { ...given.metadata, name: `pod-${count++}` }
  const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`
  const { status, body } = await cluster.send('POST', path, { ...given, metadata })
  return { status, message: body.message ?? '', first: body.spec?.containers[0].name }
}

async function serveWith(text: string, mode: InstallMode) {
  const read = readConfiguration(text, '0.1.0')
  assert.ok(read.ok, JSON.stringify(read))
  await writeFile(join(folder, 'configuration.yaml'), text)
  const flags = { cert: 'tls.crt', key: 'tls.key', config: 'configuration.yaml' }
  const serve = await startServe(Object.entries(flags).flatMap(([flag, file]) => [`--${flag}`, join(folder, file)]))
  const options = { mode, namespace: 'sidecar-first', endpoint: { url: serve.url }, caBundle: api.ca }
  await put(cluster.send, webhookConfigurations(read.configuration, text, options))
  // The API server has taken up both configurations.
  const seen = () => /"msg":"validation"/.test(serve.output()) && /"msg":"mark"/.test(serve.output())
  for (let tries = 0; tries < 100 && !seen(); tries++) {
    await create(pods['enforced for a team'], 'team')
    await sleep(50)
  }
  await sleep(300)
  return serve
}

for (const [mode, failurePolicy] of [
  ['cluster-wide', 'Fail'],
  ['namespace-opt-in', 'Ignore'],
] as const) {
  test(`${mode}, enforced rules with failurePolicy ${failurePolicy}: an outage means the reverse for them`, async () => {
    const serve = await serveWith(configured(failurePolicy), mode)
    const names = Object.keys(pods) as (keyof typeof pods)[]
    const ask = async (namespace: string) =>
      Object.fromEntries(await Promise.all(names.map(async (name) => [name, await create(pods[name], namespace)])))

    for (const namespace of ['plain', 'team']) {
      const up = await ask(namespace)
      for (const name of names) {
        const forTeams = name.endsWith('for a team') && namespace === 'plain'
        assert.equal(up[name].status, 201, `${name}: ${up[name].message}`)
        assert.equal(up[name].first === 'app', name === 'no rule' || forTeams, `${name} in ${namespace}`)
      }
    }

    await serve[Symbol.asyncDispose]()
    for (const namespace of ['plain', 'team']) {
      const down = await ask(namespace)
      const refused = names.filter((name) => down[name].status !== 201)
      const concerned = names.filter((name) => name !== 'no rule' && (namespace === 'team' || !name.endsWith('team')))
      // A pod that also asks by itself is what the mode says, unless its enforced rule is stricter.
      const wanted = concerned.filter((name) =>
        name.startsWith('enforced') ? failurePolicy === 'Fail' : mode !== 'cluster-wide',
      )
      if (mode === 'namespace-opt-in') wanted.push('enforced and annotated')
      assert.deepEqual(refused.toSorted(), wanted.toSorted(), namespace)
      for (const name of refused) {
        assert.match(down[name].message, /failed calling webhook "[\w.-]*pods\.sidecar-first\.dev"/)
      }
      for (const name of names) if (!refused.includes(name)) assert.equal(down[name].first, 'app', name)
    }
  })
}
