import { define } from '../../admission/words/define.ts'

/** Some of them by name: a cluster has thousands. */
function nodesText([first, ...others]: readonly string[]): string {
  return others.length === 0 ? `node ${first}` : `each of ${others.length + 1} nodes (${first} and others)`
}
const otherWaiter =
  'sidecar-first install --apply with a --waiter-image that your nodes can pull, and the flags of the first time'
const useInitContainer = 'set waiter.delivery: init-container in the configuration'

const namespace = 'sidecar-first'
const image = 'ghcr.io/example/waiter:0.2.0'
const [ok, warning, problem] = [define('ok'), define('warning'), define('problem')]

/** Of the nodes, and of the waiter's image on one. */
export const nodeFindings = {
  // nodes
  'kubelets-without-image-volumes': problem('SF539', {
    example: { nodes: ['node-1'], least: '1.35' },
    text: ({ nodes, least }) =>
      `${nodesText(nodes)} has a kubelet before ${least}, which mounts no image volumes unless it's told to`,
    means: 'The delivery image-volume does not work there: pods would not start.',
    next: () => useInitContainer,
  }),
  'runtimes-without-image-volumes': problem('SF540', {
    example: { nodes: ['node-1'], runtime: 'containerd', least: '2.1' },
    text: ({ nodes, runtime, least }) =>
      `${nodesText(nodes)} has a ${runtime} before ${least}, which mounts no image volumes`,
    means: 'The delivery image-volume does not work there: pods would not start.',
    next: () => useInitContainer,
  }),
  'runtimes-unknown': warning('SF541', {
    example: { nodes: ['node-1'] },
    text: ({ nodes }) => `${nodesText(nodes)} has a runtime that may not be able to mount image volumes`,
    means: 'Whether the delivery image-volume works there is not known.',
    next: () => useInitContainer,
  }),
  'kubelets-without-native': problem('SF542', {
    example: { nodes: ['node-1'] },
    text: ({ nodes }) =>
      `${nodesText(nodes)} has a kubelet before 1.29, for which a native sidecar is an init container that never ends`,
    means: 'The gate native does not work there: pods would never start.',
    next: () => 'set gate: hook in the configuration, or upgrade the nodes',
  }),
  'kubelets-older': warning('SF543', {
    example: { nodes: ['node-1'], version: '1.36' },
    text: ({ nodes, version }) => `${nodesText(nodes)} is older than the configuration's kubernetesVersion, ${version}`,
    means: 'The configuration promises a newer Kubernetes than the node has.',
    next: () => 'set kubernetesVersion to that of the oldest node: gate: auto depends on it',
  }),
  'nodes-fit': ok('SF544', {
    example: { count: 3, versions: ['1.36'], delivery: 'init-container' },
    text: ({ count, versions, delivery }) =>
      `${count} with kubelets ${versions.join(', ')}: fit for the delivery ${delivery}`,
  }),

  // waiter image
  'waiter-not-needed': ok('SF545', { text: 'not needed: waiter.delivery is shell' }),
  'waiter-not-tried': ok('SF546', { text: 'not looked at: --no-pods' }),
  'waiter-pulled': ok('SF547', {
    example: { image, node: 'node-1' },
    text: ({ image, node }) => `${image} was pulled by the node ${node}, and runs`,
  }),
  'waiter-present': ok('SF548', {
    example: { image, node: 'node-1' },
    text: ({ image, node }) => `${image} was already on the node ${node} (so no registry was asked), and runs`,
  }),
  'waiter-not-scheduled': warning('SF549', {
    example: { image, why: 'insufficient cpu', namespace },
    text: ({ image, why }) => `no node took the pod that tries to pull ${image}: ${why}`,
    means: 'A short-lived pod should have pulled the image, and was placed nowhere.',
    next: ({ namespace }) => `see kubectl get events -n ${namespace}`,
  }),
  'waiter-not-run': problem('SF550', {
    example: { image, node: 'node-1', why: 'ErrImagePull' },
    text: ({ image, node, why }) => `the node ${node} can't run ${image}: ${why}`,
    means: 'Pods that get the waiter by an init container or an image volume will not start there.',
    next: () => otherWaiter,
  }),
  'waiter-ended': problem('SF551', {
    example: { image, node: 'node-1', exitCode: 1, why: 'exec format error' },
    text: ({ image, node, exitCode, why }) => `${image} on the node ${node} ended with exit code ${exitCode}: ${why}`,
    means: "The image is not the waiter of this version, or does not run on the node's processor.",
    next: () => otherWaiter,
  }),
  'waiter-slow': warning('SF552', {
    example: { image, node: 'node-1', seconds: 30, why: 'ContainerCreating' },
    text: ({ image, node, seconds, why }) => `${image} was not there after ${seconds} s on the node ${node}: ${why}`,
    means: 'The pull had not ended when the time was over.',
    next: () => 'check again; a pull may be slow',
  }),
}
