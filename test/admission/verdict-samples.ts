import fc from 'fast-check'
import type { Json } from '../../src/admission/words/json.ts'
import type { InstallMode } from '../../src/webhooks/configurations.ts'
import { pod, ready } from './pods.ts'

const rules = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom('envoy', 'otel', 'vault'),
      fc.constantFrom(
        '',
        ', namespaceSelector: {matchLabels: {A: "1"}}',
        ', namespaceSelector: {matchLabels: {B: "1"}}',
      ),
      fc.constantFrom('', ', check: none', ', gate: native', ', enforce: true', ', enforce: audit'),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((all) => {
    const lines = all.map(
      ([name, selector, rest], at) =>
        `- {name: r${at}, tier: ${at % 3}, match: {container: ${name}${selector}}${rest}}`,
    )
    return lines.length === 0 ? '' : `rules:\n${lines.join('\n')}\n`
  })
/** Configurations as text, and how they are installed. */
export const configurations = fc
  .tuple(
    fc.constantFrom('', '', '', '', '', 'mode: observe\n', 'invalid: warn\n'),
    fc.constantFrom('', 'injected: [mesh, envoyy]\n', 'kubernetesVersion: "1.36"\n'),
    rules,
    fc.constantFrom<InstallMode>('cluster-wide', 'cluster-wide', 'namespace-opt-in'),
  )
  .map(([mode, other, rules, installed]) => ({ text: mode + other + rules, mode: installed }))

/** Pods that name containers which are there, aren't, or are nearly called so. */
export const pods = fc
  .tuple(
    fc.record(
      {
        sidecars: fc.constantFrom(
          ...['envoy', 'envoy', 'envoy, otel', 'envoy, otel', 'otel + envoy', '*', '*, otel', 'a,,b'],
          ...[
            'envoyy',
            'otle, envoy',
            'vaultt',
            'envoy, vaultt',
            'mesh',
            'envoy, mesh',
            'istio-proxy',
            'envoy, envoy2',
          ],
        ),
        gate: fc.constantFrom('hook', 'native', 'nativ'),
        'check/envoy': fc.constantFrom('none', 'tcp://:9'),
        'check/evnoy': fc.constant('none'),
        'check/nobody': fc.constant('none'),
        inject: fc.constantFrom('true', 'true', 'true', 'false'),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    // Most pods say no more than which sidecars they have.
    fc.constantFrom<string[] | undefined>(['sidecars'], ['sidecars'], ['sidecars', 'gate'], [], undefined),
    fc.subarray(
      [
        { name: 'envoy', image: 'envoy:1', readinessProbe: ready },
        { name: 'otel', image: 'otel:1' },
        { name: 'vault', image: 'vault:1', lifecycle: { postStart: { tcpSocket: { port: 1 } } } },
      ],
      { minLength: 2 },
    ),
  )
  .map(([annotations, only, containers]) => {
    const kept = Object.entries(annotations).filter(([key]) => only === undefined || only.includes(key))
    return pod(Object.fromEntries(kept) as Record<string, Json>, [{ name: 'app', image: 'app:1' }, ...containers])
  })
