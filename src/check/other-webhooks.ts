import type { V1MutatingWebhook, V1MutatingWebhookConfiguration, V1Namespace } from '@kubernetes/client-node'
import { covering, selected } from './coverage.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { type Check, needed } from './site.ts'

const OURS = 'zz-sidecar-first'

/** Mutating webhooks of others that may disturb the order, or keep our replicas from being created. */
export const otherWebhooks: Check = {
  name: 'other webhooks',
  async run({ objects, installed, namespace }) {
    const kind = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'MutatingWebhookConfiguration' }
    const all = await objects.list<V1MutatingWebhookConfiguration>(kind)
    return judgeOthers(all, needed(installed.namespaces), namespace)
  },
}

/** @param namespace ours */
export function judgeOthers(
  all: readonly V1MutatingWebhookConfiguration[],
  namespaces: readonly V1Namespace[],
  namespace: string,
): readonly Finding[] {
  const ours = all.find(({ metadata }) => metadata?.name === OURS)?.webhooks ?? []
  const covered = namespaces.filter((each) => covering(ours, each).length > 0)
  const home = namespaces.find(({ metadata }) => metadata?.name === namespace)
  const reinvoked = ours.every(({ reinvocationPolicy }) => reinvocationPolicy === 'IfNeeded')
  const others = all
    .filter(({ metadata }) => metadata?.name !== OURS)
    .flatMap(({ metadata, webhooks = [] }) =>
      webhooks.filter(seesPods).map((webhook) => ({ configuration: metadata?.name ?? '', webhook })),
    )

  const later = others.filter(
    ({ configuration, webhook }) =>
      configuration > OURS && covered.some((each) => covering([webhook], each).length > 0),
  )
  const findings = [...Map.groupBy(later, ({ configuration }) => configuration).keys()].map((name) => {
    const rename = `give the MutatingWebhookConfiguration ${name} a name that sorts before ${OURS}`
    if (!reinvoked) return problem(`${name} is called after ours, and what it changes is not seen again`, rename)
    const what = `${name} is called after ours: a rule doesn't see containers that it alone brings`
    return warning(`${what}, and one that insists on its place wins`, rename)
  })
  const blocking = others.filter(
    ({ webhook }) =>
      home &&
      webhook.failurePolicy !== 'Ignore' &&
      covering([webhook], home).length > 0 &&
      selected(webhook.objectSelector, labels),
  )
  for (const { configuration, webhook } of blocking) {
    const what = `${webhook.name} (${configuration}, failurePolicy Fail) is asked for our own pods too`
    const next = `exclude the namespace ${namespace} from its namespaceSelector`
    findings.push(warning(`${what}: while it is down, no replica can be created`, next))
  }
  if (findings.length > 0) return findings
  return [ok(`none of ${others.length} is called after ours, or stands in the way of our replicas`)]
}

/** Of our replicas. */
const labels = { 'app.kubernetes.io/name': 'sidecar-first', 'app.kubernetes.io/component': 'serve' }

function seesPods({ rules = [] }: V1MutatingWebhook): boolean {
  const has = (list: readonly string[] | undefined, ...some: readonly string[]) =>
    list?.some((each) => some.includes(each)) === true
  return rules.some(
    ({ apiGroups, resources, operations }) =>
      has(apiGroups, '', '*') && has(resources, 'pods', '*', '*/*') && has(operations, 'CREATE', '*'),
  )
}
