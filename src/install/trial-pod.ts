import type { V1Pod } from '@kubernetes/client-node'
import { keys } from '../admission/words/keys.ts'

/**
 * A pod that asks for its sidecar first, for dry runs; it is never stored. It passes PodSecurity "restricted", and any LimitRange or quota
 * that isn't narrow.
 */
export function trialPod(namespace: string): V1Pod {
  const container = (name: string) => ({
    name,
    image: 'sidecar-first.dev/dry-run',
    resources: { requests: { cpu: '1m', memory: '1Mi' }, limits: { cpu: '1m', memory: '1Mi' } },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  })
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'sidecar-first-trial-', namespace, annotations: { [keys.sidecars]: 'sidecar' } },
    spec: {
      containers: [container('app'), { ...container('sidecar'), readinessProbe: { tcpSocket: { port: 1 } } }],
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
    },
  }
}
