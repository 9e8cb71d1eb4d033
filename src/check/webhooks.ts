import { isDeepStrictEqual } from 'node:util'
import type {
  V1MutatingWebhook,
  V1MutatingWebhookConfiguration,
  V1ValidatingWebhook,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node'
import type { Configuration } from '../admission/configuration.ts'
import {
  configurationHash,
  configurationHashKey,
  type InstallMode,
  modeOf,
  webhookConfigurations,
} from '../webhooks/configurations.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { type Check, needed, validConfiguration } from './site.ts'

/** Whether the webhook configurations are there, and as the configuration and the mode have them. */
export const webhooks: Check = {
  name: 'webhooks',
  async run({ namespace, installed }) {
    const live = { mutating: needed(installed.mutating), validating: needed(installed.validating) }
    if (!live.mutating && !live.validating) return [missing('webhook configuration', unpatched)]
    return judgeWebhooks(live, validConfiguration(installed), namespace)
  },
}

interface Live {
  readonly mutating: V1MutatingWebhookConfiguration | undefined
  readonly validating: V1ValidatingWebhookConfiguration | undefined
}

export function judgeWebhooks(
  live: Live,
  { configuration, text }: { configuration: Configuration; text: string },
  namespace: string,
): readonly Finding[] {
  const mode = modeOf(live.mutating?.webhooks ?? live.validating?.webhooks ?? [])
  const endpoint = { service: 'sidecar-first', port: 443 }
  const expected = webhookConfigurations(configuration, text, { mode, namespace, endpoint })
  const hash = configurationHash(text)
  const findings = (
    [
      ['mutating', 'MutatingWebhookConfiguration zz-sidecar-first'],
      ['validating', 'ValidatingWebhookConfiguration sidecar-first'],
    ] as const
  ).flatMap(([kind, name]): Finding[] => {
    const there = live[kind]
    if (!there) return [missing(name, kind === 'mutating' ? unpatched : unrefused)]
    const behind = there.metadata?.annotations?.[configurationHashKey] !== hash
    const differences = differencesOf(there.webhooks ?? [], expected[kind].webhooks ?? [])
    if (behind && differences.length > 0) {
      return [problem(`${name} is behind the configuration: ${differences.join(', ')}`, renew(namespace, mode))]
    }
    if (behind)
      return [warning(`${name} was made from another configuration; it does the same`, renew(namespace, mode))]
    return differences.map((text) => warning(`${name} was changed by somebody: ${text}`, renew(namespace, mode)))
  })
  const policy =
    mode === 'namespace-opt-in'
      ? 'labelled namespaces, failurePolicy Fail'
      : 'all namespaces but those that opted out, failurePolicy Ignore'
  return findings.length > 0 ? findings : [ok(`both as the configuration has them: ${policy}`)]
}

const unpatched = 'pods start as they are'
const unrefused = 'nobody refuses a pod whose order another webhook has undone'

/** An installation also waits until somebody answers, where nobody does. */
const missing = (what: string, so: string) =>
  problem(`there is no ${what}: ${so}`, 'sidecar-first install --apply, with the flags of the first time')

/** Makes the webhook configurations anew of what the replicas mount, in the name of `install`: another owner would stand in its way. */
function renew(namespace: string, mode: InstallMode): string {
  const read = `kubectl get configmap -n ${namespace} sidecar-first -o 'jsonpath={.data.config\\.yaml}'`
  const make = `sidecar-first config --webhooks --mode ${mode} --namespace ${namespace} -`
  return `${read} | ${make} | kubectl apply --server-side --force-conflicts --field-manager=sidecar-first -f -`
}

type Webhook = V1MutatingWebhook | V1ValidatingWebhook

/** What matters, and what the API server's defaults are where it isn't written. */
function traits(webhook: Webhook): Record<string, unknown> {
  const { rules, matchConditions = [], namespaceSelector = {}, objectSelector = {}, failurePolicy = 'Fail' } = webhook
  const { clientConfig, timeoutSeconds = 10, matchPolicy = 'Equivalent' } = webhook
  const path = clientConfig.service?.path ?? clientConfig.url?.replace(/^https:\/\/[^/]*/, '')
  return {
    failurePolicy,
    namespaceSelector,
    objectSelector,
    matchConditions,
    rules,
    path,
    matchPolicy,
    timeoutSeconds,
    ...('reinvocationPolicy' in webhook ? { reinvocationPolicy: webhook.reinvocationPolicy } : {}),
  }
}

function differencesOf(live: readonly Webhook[], expected: readonly Webhook[]): string[] {
  const there = new Map(live.map((webhook) => [webhook.name, plain(traits(webhook))]))
  const names = new Set(expected.map(({ name }) => name))
  const found = expected.flatMap((webhook) => {
    const wanted = plain(traits(webhook))
    const has = there.get(webhook.name)
    if (has === undefined) return [`the webhook ${webhook.name} is missing`]
    return Object.keys(wanted).flatMap((trait) => {
      if (isDeepStrictEqual(has[trait], wanted[trait])) return []
      const short = typeof wanted[trait] === 'string' || typeof wanted[trait] === 'number'
      return [`${trait} of ${webhook.name} ${short ? `is ${has[trait]}, not ${wanted[trait]}` : 'differs'}`]
    })
  })
  const stray = live.filter(({ name }) => !names.has(name)).map(({ name }) => `the webhook ${name} is one too many`)
  return [...found, ...stray]
}

/** Without the client's classes and undefined fields. */
const plain = (value: Record<string, unknown>): Record<string, unknown> => JSON.parse(JSON.stringify(value))
