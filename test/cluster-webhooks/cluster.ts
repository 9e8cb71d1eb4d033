import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import type { Rule } from '../../src/admission/intent/rule.ts'
import { indexRules } from '../../src/admission/intent/rule-index.ts'
import {
  type InstallMode,
  type WebhookConfigurations,
  webhookConfigurations,
} from '../../src/webhooks/configurations.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'

interface Answer {
  readonly status: number
  readonly body: { readonly message?: string }
  /** Paths of the webhook that were called for it, in order. */
  readonly asked: readonly string[]
}

/** Calls of an administrator. */
export function talkTo(api: ApiServer) {
  const agent = new Agent({ keepAlive: true, ca: api.ca, maxSockets: 4 })
  const token = api.kubeconfig('admin').getCurrentUser()?.token ?? ''

  async function send(method: string, path: string, body: unknown, type = 'application/json') {
    const call = request(api.url + path, {
      method,
      agent,
      timeout: 30_000,
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
    })
    call.on('timeout', () => call.destroy(new Error(`no answer within 30 s: ${method} ${path}`)))
    call.end(JSON.stringify(body))
    const [response] = await once(call, 'response')
    return { status: Number(response.statusCode), body: JSON.parse(await text(response)) }
  }

  async function namespace(name: string, labels: Record<string, string>) {
    const { status, body } = await send('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels },
    })
    assert.equal(status, 201, body.message)
  }
  return { send, namespace, close: () => agent.destroy() }
}

/** Applies webhook configurations. */
export async function put(
  send: ReturnType<typeof talkTo>['send'],
  { mutating, validating }: Pick<WebhookConfigurations, 'mutating' | 'validating'>,
): Promise<void> {
  for (const each of [mutating, validating]) {
    const path = `/apis/admissionregistration.k8s.io/v1/${each.kind?.toLowerCase()}s/${each.metadata?.name}`
    const { status, body } = await send(
      'PATCH',
      `${path}?fieldManager=test&force=true`,
      each,
      'application/apply-patch+yaml',
    )
    assert.ok(status < 300, body.message)
  }
}

/** A real API server, and a stand-in for the webhook that allows all and remembers what it was asked. */
export async function startCluster() {
  const api = await startApiServer()
  const calls = new Map<string, string[]>()
  const standIn = createServer({ cert: api.pair.certificate, key: api.pair.key }, async (incoming, response) => {
    const { request: review } = JSON.parse(await text(incoming))
    const path = new URL(incoming.url ?? '', 'https://localhost').pathname
    const { name } = review.object.metadata
    calls.set(name, [...(calls.get(name) ?? []), path])
    const answer = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: review.uid, allowed: true },
    }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  await once(standIn.listen(0, '127.0.0.1'), 'listening')
  const { send, namespace, close } = talkTo(api)
  let count = 0
  let generation = 0

  /** Creates a pod (dry run). It gets a name, unless it is to have none. */
  async function create(
    pod: { metadata?: object | null; [key: string]: unknown },
    namespace = 'opted-in',
  ): Promise<Answer> {
    const name = `pod-${count++}`
    const body = { apiVersion: 'v1', kind: 'Pod', ...pod, metadata: { name, ...pod.metadata } }
    const { status, body: answer } = await send('POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, body)
    const asked = (calls.get(name) ?? []).map((path) => path.replace(/^\/\d+/, ''))
    return { status, body: answer, asked }
  }

  /** Applies what goes with the rules, and waits until the API server goes by it. */
  async function apply(rules: readonly Rule[], mode: InstallMode = 'namespace-opt-in'): Promise<WebhookConfigurations> {
    generation += 1
    const { port } = standIn.address() as AddressInfo
    const configuration = { ...defaultConfiguration('test'), rules: indexRules(rules) }
    const made = webhookConfigurations(configuration, '', {
      mode,
      namespace: 'sidecar-first',
      endpoint: { url: `https://127.0.0.1:${port}/${generation}` },
      caBundle: api.ca,
    })
    await put(send, made)
    const annotations = { 'sidecar-first.dev/sidecars': 'app' }
    for (let tries = 0; tries < 200; tries++) {
      const name = `probe-${count++}`
      await create({ ...podOf([]), metadata: { name, annotations } })
      const now = (calls.get(name) ?? []).filter((path) => path.startsWith(`/${generation}/`))
      if (now.length === 2) return made
      await sleep(50)
    }
    throw new Error('the API server does not call the webhooks')
  }

  await namespace('opted-in', { 'sidecar-first.dev/injection': 'enabled' })

  return {
    create,
    apply,
    namespace,
    async stop() {
      close()
      standIn.close()
      standIn.closeAllConnections()
      await api.stop()
    },
  }
}

export type Cluster = Awaited<ReturnType<typeof startCluster>>

/** A pod with an app, and these containers beside it. */
export function podOf(containers: readonly object[], more: object = {}) {
  return { spec: { containers: [{ name: 'app', image: 'app:1' }, ...containers], ...more } }
}
