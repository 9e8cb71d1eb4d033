import type { V1MutatingWebhook, V1MutatingWebhookConfiguration, V1Namespace } from '@kubernetes/client-node'
import { labelsOf, mutatingReference, objectNames } from '../../kubernetes/names.ts'
import type { Finding } from '../findings.ts'
import { covering, selected } from '../pod/coverage.ts'
import { type Check, needed } from '../site.ts'

/** Other mutating webhooks that may disturb the order or prevent our replicas from being created. */
export const otherWebhooks: Check = {
  name: 'other webhooks',
  async run({ objects, installed, namespace }) {
    const all = await objects.list<V1MutatingWebhookConfiguration>(mutatingReference)
    return judgeOthers(all, needed(installed.namespaces), namespace)
  },
}

/** @param namespace ours */
export function judgeOthers(
  all: readonly V1MutatingWebhookConfiguration[],
  namespaces: readonly V1Namespace[],
  namespace: string,
): readonly Finding[] {
  const ours = all.find(({ metadata }) => metadata?.name === objectNames.mutating)?.webhooks ?? []
  const covered = namespaces.filter((each) => covering(ours, each).length > 0)
  const home = namespaces.find(({ metadata }) => metadata?.name === namespace)
  // Only the one that plans.
  const reinvoked = ours.some(({ reinvocationPolicy }) => reinvocationPolicy === 'IfNeeded')
  const others = all
    .filter(({ metadata }) => metadata?.name !== objectNames.mutating)
    .flatMap(({ metadata, webhooks = [] }) =>
      webhooks.filter(seesPods).map((webhook) => ({ configuration: metadata?.name ?? '', webhook })),
    )

  const later = others.filter(
    ({ configuration, webhook }) =>
      configuration > objectNames.mutating && covered.some((each) => covering([webhook], each).length > 0),
  )
  const findings = [...Map.groupBy(later, ({ configuration }) => configuration).keys()].map(
    (configuration): Finding => ({
      kind: reinvoked ? 'called-after-ours-again' : 'called-after-ours',
      configuration,
    }),
  )
  const blocking = others.filter(
    ({ webhook }) =>
      home &&
      webhook.failurePolicy !== 'Ignore' &&
      covering([webhook], home).length > 0 &&
      selected(webhook.objectSelector, labelsOf('serve')),
  )
  for (const { configuration, webhook } of blocking) {
    findings.push({ kind: 'guards-our-pods', webhook: webhook.name, configuration, namespace })
  }
  return findings.length > 0 ? findings : [{ kind: 'others-harmless', count: others.length }]
}

function seesPods({ rules = [] }: V1MutatingWebhook): boolean {
  const has = (list: readonly string[] | undefined, ...some: readonly string[]) =>
    list?.some((each) => some.includes(each)) === true
  return rules.some(
    ({ apiGroups, resources, operations }) =>
      has(apiGroups, '', '*') && has(resources, 'pods', '*', '*/*') && has(operations, 'CREATE', '*'),
  )
}
