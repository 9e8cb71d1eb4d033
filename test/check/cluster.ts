import type { V1MutatingWebhookConfiguration, V1Namespace, V1Pod } from '@kubernetes/client-node'
import { decide } from '../../src/admission/decide.ts'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { type Finding, type Level, told } from '../../src/check/findings.ts'
import { faultText } from '../../src/configuration/faults.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { type InstallMode, webhookConfigurations } from '../../src/webhooks/configurations.ts'
import { after, type Pod } from '../admission/pods.ts'

/** A configuration, its text, and the webhook configurations that go with it, as they would be in a cluster. */
export function installation(more = '', mode: InstallMode = 'namespace-opt-in') {
  const text = `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${more}`
  const read = readConfiguration(text, '1.0.0')
  if (!read.ok) throw new Error(read.problems.map(({ fault }) => faultText(fault)).join('\n'))
  const endpoint = { service: 'sidecar-first', port: 443 }
  const made = webhookConfigurations(read.configuration, text, { mode, namespace: 'sidecar-first', endpoint })
  const live = structuredClone({ mutating: made.mutating, validating: made.validating, workloads: made.workloads })
  return { text, configuration: read.configuration, ...live }
}

export function namespace(name: string, labels: Record<string, string> = {}): V1Namespace {
  return { metadata: { name, labels: { 'kubernetes.io/metadata.name': name, ...labels } } }
}

export const enabled = { 'sidecar-first.dev/injection': 'enabled' }
export const shop = namespace('shop', enabled)

/** A pod with an app before a sidecar, which it asks to have first. */
export function asking(name: string, more: V1Pod['metadata'] = {}): V1Pod {
  return {
    metadata: { name, namespace: 'shop', annotations: { 'sidecar-first.dev/sidecars': 'envoy' }, ...more },
    spec: {
      containers: [
        { name: 'app', image: 'app' },
        { name: 'envoy', image: 'envoy', readinessProbe: { tcpSocket: { port: 15021 } } },
      ],
    },
  }
}

/** As the webhook would have stored it. */
export function patched(pod: V1Pod, configuration: Configuration): V1Pod {
  const copy = structuredClone(pod) as unknown as Pod
  const decision = decide(copy, configuration)
  return after(copy, decision) as unknown as V1Pod
}

/** Made by the ReplicaSet of a Deployment. */
export const ofDeployment = (name: string): NonNullable<V1Pod['metadata']> => ({
  labels: { 'pod-template-hash': 'abc12' },
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${name}-abc12`, uid: 'u', controller: true }],
})

/** Another's webhook for all pods. */
export function webhook(name: string, more: object = {}): V1MutatingWebhookConfiguration {
  return {
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }],
        clientConfig: {},
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Ignore',
        ...more,
      },
    ],
  }
}

/** A judgement whose findings are put into words. */
export const worded =
  <Arguments extends unknown[]>(judge: (...args: Arguments) => readonly Finding[]) =>
  (...args: Arguments) =>
    judge(...args).map(told)

export const levels = (findings: readonly { readonly level: Level }[]): Level[] => findings.map(({ level }) => level)
