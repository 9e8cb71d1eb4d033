import { isDeepStrictEqual } from 'node:util'
import type {
  V1MutatingWebhook,
  V1MutatingWebhookConfiguration,
  V1ValidatingWebhook,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node'
import type { Configuration } from '../../admission/intent/configuration.ts'
import { endpoint, objectKeys } from '../../kubernetes/names.ts'
import { configurationHash, failurePolicyOf, modeOf, webhookConfigurations } from '../../webhooks/configurations.ts'
import type { Difference } from '../findings/webhooks.ts'
import type { Finding } from '../findings.ts'
import { type Check, needed, validConfiguration } from '../site.ts'

/** Whether the webhook configurations exist and match the configuration and the mode. */
export const webhooks: Check = {
  name: 'webhooks',
  async run({ namespace, installed }) {
    const live = {
      mutating: needed(installed.mutating),
      validating: needed(installed.validating),
      workloads: needed(installed.workloads),
    }
    if (!live.mutating && !live.validating) return [{ kind: 'no-webhook-configurations' }]
    return judgeWebhooks(live, validConfiguration(installed), namespace)
  },
}

interface Live {
  readonly mutating: V1MutatingWebhookConfiguration | undefined
  readonly validating: V1ValidatingWebhookConfiguration | undefined
  readonly workloads: V1ValidatingWebhookConfiguration | undefined
}

export function judgeWebhooks(
  live: Live,
  { configuration, text }: { configuration: Configuration; text: string },
  namespace: string,
): readonly Finding[] {
  const mode = modeOf(live.mutating?.webhooks ?? live.validating?.webhooks ?? [])
  const expected = webhookConfigurations(configuration, text, { mode, namespace, endpoint })
  const hash = configurationHash(text)
  const findings = (['mutating', 'validating', 'workloads'] as const).flatMap((which): Finding[] => {
    const there = live[which]
    if (!there) return [missing(which, configuration)]
    const about = { configuration: `${there.kind} ${there.metadata?.name}`, namespace, mode }
    const behind = there.metadata?.annotations?.[objectKeys.configurationHash] !== hash
    const differences = differencesOf(awake(there.webhooks ?? []), awake(expected[which].webhooks ?? []))
    if (!behind) return differences.map((difference) => ({ kind: 'webhooks-changed', ...about, difference }))
    // Nothing of that one depends on the configuration.
    if (differences.length === 0) return which === 'workloads' ? [] : [{ kind: 'webhooks-of-another-text', ...about }]
    return [{ kind: 'webhooks-behind', ...about, differences }]
  })
  if (findings.length > 0) return findings
  const policy = failurePolicyOf(mode)
  const apart = expected.validating.webhooks?.find(({ failurePolicy }) => failurePolicy !== policy)
  return [{ kind: 'webhooks-right', mode, enforced: apart && configuration.enforced.failurePolicy }]
}

/** Not all are missing: without the mutating one, the other refuses what nobody puts in order. */
function missing(which: keyof Live, { mode }: Configuration): Finding {
  if (which === 'workloads') return { kind: 'workloads-missing' }
  if (which === 'validating') return { kind: 'validating-missing' }
  return { kind: mode === 'observe' ? 'mutating-missing' : 'mutating-missing-refused' }
}

type Webhook = V1MutatingWebhook | V1ValidatingWebhook

/** What matters, with the API server's defaults filled in. */
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

/** One without rules is never called: a reserve, or one that waits for its caBundle. */
const awake = (webhooks: readonly Webhook[]) => webhooks.filter(({ rules = [] }) => rules.length > 0)

function differencesOf(live: readonly Webhook[], expected: readonly Webhook[]): Difference[] {
  const there = new Map(live.map((webhook) => [webhook.name, plain(traits(webhook))]))
  const names = new Set(expected.map(({ name }) => name))
  const found = expected.flatMap((each): Difference[] => {
    const webhook = each.name
    const wanted = plain(traits(each))
    const has = there.get(webhook)
    if (has === undefined) return [{ kind: 'missing', webhook }]
    return Object.keys(wanted)
      .filter((trait) => !isDeepStrictEqual(has[trait], wanted[trait]))
      .map((trait): Difference => {
        const short = typeof wanted[trait] === 'string' || typeof wanted[trait] === 'number'
        return { kind: 'trait', webhook, trait, ...(short && { is: `${has[trait]}`, wanted: `${wanted[trait]}` }) }
      })
  })
  const stray = live.filter(({ name }) => !names.has(name))
  return [...found, ...stray.map(({ name }) => ({ kind: 'stray', webhook: name }) as const)]
}

/** Without the client's classes and undefined fields. */
const plain = (value: Record<string, unknown>): Record<string, unknown> => JSON.parse(JSON.stringify(value))
