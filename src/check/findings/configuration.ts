import { define, passOn, wordsFor } from '../../admission/words/define.ts'
import type { Values } from '../../admission/words/values.ts'
import { faultCode, type Remark, remarkWords } from '../../configuration/faults.ts'
import { configurationFile, objectNames } from '../../kubernetes/names.ts'

/** What keeps a check from looking. */
const obstacles = {
  'no-configuration': { text: () => 'there is no valid configuration to judge it by' },
  'no-webhooks': { text: () => 'there is no MutatingWebhookConfiguration' },
  observe: { text: () => 'mode: observe patches no pod' },
  interrupted: { text: () => 'interrupted' },
  'pod-removed': { text: ({ pod }: { readonly pod: string }) => `somebody removed the pod ${pod}` },
  'call-failed': { text: ({ message }: { readonly message: string }) => message },
}
export type Obstacle = Values<typeof obstacles>

interface In {
  readonly namespace: string
}
interface Remarked {
  readonly remark: Remark
}
const ofRemark = ({ remark }: Remarked) => faultCode(remark.fault)
function editConfiguration({ namespace }: In): string {
  return `kubectl edit configmap -n ${namespace} ${objectNames.configMap}`
}

const namespace = 'sidecar-first'
const [ok, warning, problem] = [define('ok'), define('warning'), define('problem')]

/** Of an installation as a whole and its configuration. */
export const configurationFindings = {
  'not-installed': problem('SF501', {
    example: { namespace },
    text: ({ namespace }) =>
      `it is not installed: there is no webhook configuration, and no configuration in namespace ${namespace}`,
    means: 'The cluster has neither webhook configurations nor a configuration of sidecar-first in that namespace.',
    next: () => 'sidecar-first install --apply',
  }),
  'not-looked-at': warning<{ obstacle: Obstacle }>('SF502', {
    example: { obstacle: { kind: 'call-failed', message: 'nodes is forbidden' } },
    text: ({ obstacle }) => `not looked at: ${wordsFor(obstacles, obstacle)}`,
    means: 'The check could not look, so it says neither that things are in order nor that they are not.',
    next: 'Remove the obstacle that the message names; a missing right is in docs/check.md.',
  }),
  'not-looked-at-either': warning('SF503', {
    example: { check: 'nodes' },
    text: ({ check }) => `not looked at, for the same reason as ${check}`,
    means: 'The reason is the same as for an earlier check.',
    next: 'See the other one.',
  }),

  'configuration-missing': problem('SF504', {
    example: { namespace },
    text: ({ namespace }) =>
      `ConfigMap ${namespace}/${objectNames.configMap} with ${configurationFile} is missing: replicas can't start`,
    means: 'The ConfigMap is gone. Running replicas go on with what they have read.',
    next: () => 'install sidecar-first again',
  }),
  'configuration-invalid': passOn(
    'problem',
    ofRemark,
    ({ remark }: Remarked) =>
      `${remarkWords(configurationFile, remark)}; replicas keep the last good one, new ones don't start`,
    editConfiguration,
  ),
  'configuration-notice': passOn(
    'warning',
    ofRemark,
    ({ remark }: Remarked) => remarkWords(configurationFile, remark),
    editConfiguration,
  ),
  'configuration-observes': warning('SF507', {
    example: { namespace },
    text: 'mode: observe, so no pod is patched; warnings say what would be done',
    means: 'Nothing is wrong: it is a trial. No pod is changed yet.',
    next: (data) => `set mode: enforce to have pods patched: ${editConfiguration(data)}`,
  }),
  'configuration-valid': ok('SF508', {
    example: { rules: 2 },
    text: ({ rules }) => `valid, ${rules} ${rules === 1 ? 'rule' : 'rules'}`,
  }),
}
