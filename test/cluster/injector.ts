import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { create, kubectl } from './cluster.ts'
import type { Container } from './pod.ts'
import { issueLoopbackPair } from './webhook.ts'

/** Annotation: the container that the fake injector puts in front, as JSON. */
export const injectKey = 'fake-injector.test/container'

/** A fake: it stands for any injector that runs beside sidecar-first, and puts the container that a pod asks for in front. */
export type FakeInjector = { remove(): Promise<void> }

/**
 * Starts a fake injector for the namespaces with these labels.
 * @param name of its configuration; the API server calls webhooks in the order of those
 * @param insists puts its container in front again whenever it is called, as no good injector does
 * @param injects the patch that it makes instead
 * @param forgets drops the fields that its libraries don't know, as one does that is older than they: `reinvoked`, also when it is called again
 */
export async function startFakeInjector(
  name: string,
  labels: Record<string, string>,
  {
    insists = false,
    forgets,
    injects = (pod) => (forgets ? forget(pod) : inject(pod, insists)),
  }: { insists?: boolean; forgets?: 'once' | 'reinvoked'; injects?: (pod: Pod) => object[] } = {},
): Promise<FakeInjector> {
  const { certificate, key, caBundle } = await issueLoopbackPair()
  const server = createServer({ cert: certificate, key }, async (request, response) => {
    const { request: review } = (await json(request)) as AdmissionReview
    const patch = JSON.stringify(injects(review.object))
    const answer = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: {
        uid: review.uid,
        allowed: true,
        patchType: 'JSONPatch',
        patch: Buffer.from(patch).toString('base64'),
      },
    }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const removeConfiguration = () => kubectl('delete', 'mutatingwebhookconfiguration', name, '--ignore-not-found')
  await removeConfiguration() // an interrupted run leaves it
  await create({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: 'fake-injector.test.dev',
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(caBundle).toString('base64') },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }],
        namespaceSelector: { matchLabels: labels },
        reinvocationPolicy: forgets === 'once' ? 'Never' : 'IfNeeded',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  })
  return {
    async remove() {
      await removeConfiguration()
      server.close()
      server.closeAllConnections()
    },
  }
}

type AdmissionReview = { request: { uid: string; object: Pod } }
/** What an injector is asked about. */
export type Pod = {
  metadata: { annotations?: Record<string, string>; labels?: Record<string, string> }
  spec: { containers: Container[]; initContainers?: Container[]; volumes?: { name: string }[] }
}

function inject({ metadata, spec }: Pod, insists: boolean): object[] {
  const text = metadata.annotations?.[injectKey]
  if (!text) return []
  const container = JSON.parse(text) as Container
  const place = spec.containers.findIndex(({ name }) => name === container.name)
  if (place < 0) return [{ op: 'add', path: '/spec/containers/0', value: container }]
  return insists ? [{ op: 'move', from: `/spec/containers/${place}`, path: '/spec/containers/0' }] : []
}

const forget = ({ spec: { containers } }: Pod): object[] =>
  containers.flatMap(({ env }, index) =>
    ((env ?? []) as { valueFrom?: { fileKeyRef?: object } }[]).flatMap(({ valueFrom }, at) =>
      valueFrom?.fileKeyRef ? [{ op: 'remove', path: `/spec/containers/${index}/env/${at}/valueFrom/fileKeyRef` }] : [],
    ),
  )
