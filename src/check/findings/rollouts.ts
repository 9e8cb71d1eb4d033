import { rolloutCodes } from '../../../rollouts/codes.ts'
import { define } from '../../admission/words/define.ts'

interface Template {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly image: string
}
interface Wanted {
  readonly namespace: string
  readonly name: string
  readonly container: string
  readonly image: string
}

function setTemplate({ container, image, template }: Wanted & { readonly template: Template }): string {
  const { kind, namespace, name } = template
  const set = `kubectl set image -n ${namespace} ${kind.toLowerCase()}/${name} ${container}=${image}`
  switch (kind) {
    case 'Job':
      return 'a Job keeps its template: correct the manifest that the next one is made from'
    case 'CronJob':
    case 'ReplicaSet':
      return set
    case 'Deployment':
    case 'StatefulSet':
    case 'DaemonSet':
      return `${set}   (recreates its pods: best with the next release)`
    default:
      return `correct the template of ${kind} ${name}`
  }
}

function rolloutStatus({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `sidecar-first rollout status -n ${namespace} ${name}`
}

const rollout = { namespace: 'shop', name: 'envoy' }
const wanted = { ...rollout, container: 'envoy', image: 'envoy:2' }
const [ok, warning] = [define('ok'), define('warning')]

/** Of sidecars upgraded in place. */
export const rolloutFindings = {
  'rollouts-unknown': ok('SF801', { text: 'no SidecarRollout is known here: sidecars are not upgraded in place' }),
  'no-rollouts': ok(rolloutCodes.none, { text: 'there are none' }),
  'rollout-not-taken-up': warning(rolloutCodes.unseen, {
    example: rollout,
    text: ({ namespace, name }) => `no controller has taken up ${namespace}/${name}`,
    means: 'A SidecarRollout has no status: the controller is not installed, or does not run.',
    next: rolloutStatus,
  }),
  'rollout-failed': warning(rolloutCodes.failed, {
    example: { ...rollout, phase: 'Stopped', message: 'pod web-0 does not become ready' },
    text: ({ namespace, name, phase, message }) =>
      `${namespace}/${name} ${phase === 'Stopped' ? 'has stopped' : 'was rolled back'}: ${message}`,
    means: 'An upgrade in place went wrong and ended, or cannot go on.',
    next: rolloutStatus,
  }),
  'rollout-under-way': ok('SF805', {
    example: { ...rollout, phase: 'Progressing', done: 2, desired: 5 },
    text: ({ namespace, name, phase, done, desired }) =>
      `${namespace}/${name}: ${phase}, ${done} of ${desired} pods are done`,
  }),
  'rollout-undone': warning<
    Wanted & { right: number; desired: number; others: number; one: { name: string; image: string } }
  >('SF806', {
    example: { ...wanted, right: 4, desired: 5, others: 1, one: { name: 'web-0', image: 'envoy:1' } },
    text: ({ namespace, name, container, image, right, desired, others, one }) =>
      `${namespace}/${name}: ${right} of the ${desired} pods that should have ${container} ${image} have it; ${others} have another, such as ${one.name} with ${one.image}`,
    means:
      'Pods of a completed rollout have another image, for example because they were created again from an old template.',
    next: ({ namespace, container, image, one }) =>
      `kubectl set image -n ${namespace} pod/${one.name} ${container}=${image}`,
  }),
  'rollout-template-behind': warning<Wanted & { template: Template }>('SF807', {
    example: { ...wanted, template: { kind: 'Deployment', namespace: 'shop', name: 'web', image: 'envoy:1' } },
    text: ({ namespace, name, container, image, template }) =>
      `${template.kind} ${template.namespace}/${template.name} makes new pods with ${container} ${template.image}, and ${namespace}/${name} says ${image}`,
    means: 'The next pod of that template starts with the old image.',
    next: setTemplate,
  }),
  'rollout-right': ok('SF808', {
    example: { ...wanted, pods: 5 },
    text: ({ namespace, name, container, image, pods }) =>
      `${namespace}/${name}: ${pods} pods have ${container} ${image}, as it says`,
  }),
}
