import fc from 'fast-check'
import type { Json } from '../../src/admission/words/json.ts'
import { setOf } from '../../src/webhooks/set.ts'
import { type Container, pod, ready } from '../admission/pods.ts'
import type { talkTo } from './cluster.ts'

/** Rules of two selectors, pods that they concern, and namespaces that match none, one, the other and both. */
export const a = setOf({ matchLabels: { A: '1' } })
export const b = setOf({ matchLabels: { B: '1' } })
export const namespaces: Readonly<Record<string, readonly string[]>> = { none: [], a: [a], b: [b], ab: [a, b] }

export async function withNamespaces({ namespace }: ReturnType<typeof talkTo>): Promise<void> {
  const enabled = { 'sidecar-first.dev/injection': 'enabled' }
  await namespace('none', enabled)
  await namespace('a', { ...enabled, A: '1' })
  await namespace('b', { ...enabled, B: '1' })
  await namespace('ab', { ...enabled, A: '1', B: '1' })
}

export const app: Container = { name: 'app', image: 'app:1' }

const which = fc.constantFrom('s', 'd', 'e')
const selector = fc.constantFrom(
  '',
  ', namespaceSelector: {matchLabels: {A: "1"}}',
  ', namespaceSelector: {matchLabels: {B: "1"}}',
)
const setting = fc.constantFrom(
  '',
  ', check: none',
  ', check: "tcp://:77"',
  ', timeout: 30s',
  ', gate: native',
  ', enforce: true',
  ', enforce: true, gate: native',
)
/** Each rule as a line of YAML. */
export const rules = fc
  .uniqueArray(fc.tuple(which, selector, setting, fc.integer({ min: 1, max: 3 })), { minLength: 2, maxLength: 5 })
  .map((all) =>
    all.map(([name, own, rest, tier], at) => `name: r${at}, match: {container: ${name}${own}}, tier: ${tier}${rest}`),
  )
export const pods = fc
  .tuple(
    fc.record(
      {
        sidecars: fc.constantFrom('s', 'd,s', 's + d', '*', '*, d', 'd, *, e'),
        gate: fc.constantFrom('hook', 'native'),
        'check/s': fc.constantFrom('none', 'tcp://:9'),
        inject: fc.constantFrom('true', 'false'),
        sets: fc.constantFrom(a, `${a},${b}`, 'nonsense'),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    fc.constantFrom<Container>({ name: 's', image: 's' }, { name: 's', image: 's', readinessProbe: ready }),
    // A hook that can't be chained.
    fc.constantFrom({}, {}, { lifecycle: { postStart: { tcpSocket: { port: 1 } } } }),
  )
  .map(([annotations, s, hook]) =>
    pod(annotations as Record<string, Json>, [
      app,
      s,
      { name: 'd', image: 'd', readinessProbe: ready, ...hook },
      { name: 'e', image: 'e' },
    ]),
  )
