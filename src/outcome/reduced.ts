import type { V1Container, V1ContainerState, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'

/** Characters that are kept of the kubelet's words about a container, and of the last words of one that has ended. */
interface Words {
  readonly waiting: number
  readonly ended: number
}

/** What of a pod's spec and status says how it started: a tenth of what the API server sends, or far less. */
export function reducedPod({ spec, status }: V1Pod, words: Words): object {
  const { initContainers, containers = [], nodeName, restartPolicy } = spec ?? {}
  const { phase, startTime, conditions, containerStatuses, initContainerStatuses } = status ?? {}
  const statusOf = (each: V1ContainerStatus) => reducedStatus(each, words)
  return {
    spec: {
      nodeName,
      restartPolicy,
      initContainers: initContainers?.map(reducedContainer),
      containers: containers.map(reducedContainer),
    },
    status: {
      phase,
      startTime,
      conditions: conditions
        ?.filter(({ type }) => type === 'ContainersReady')
        .map(({ type, status, lastTransitionTime }) => ({ type, status, lastTransitionTime })),
      containerStatuses: containerStatuses?.map(statusOf),
      initContainerStatuses: initContainerStatuses?.map(statusOf),
    },
  }
}

/** With the variables that come from files alone: one may be a lock. */
function reducedContainer({ name, image, restartPolicy, lifecycle, readinessProbe, startupProbe, env }: V1Container) {
  const files = env?.filter(({ valueFrom }) => valueFrom && 'fileKeyRef' in valueFrom) ?? []
  return {
    name,
    image,
    restartPolicy,
    lifecycle: lifecycle?.postStart && { postStart: lifecycle.postStart },
    readinessProbe,
    startupProbe,
    env: files.length > 0 ? files : undefined,
  }
}

function reducedStatus(
  { name, ready, started, restartCount, state, lastState }: V1ContainerStatus,
  words: Words,
): object {
  return { name, ready, started, restartCount, state: stateOf(state, words), lastState: stateOf(lastState, words) }
}

function stateOf({ waiting, running, terminated }: V1ContainerState = {}, words: Words) {
  return {
    // They say whether a container waits for a lock.
    waiting: waiting && { reason: waiting.reason, message: waiting.message?.slice(0, words.waiting) },
    running: running && { startedAt: running.startedAt },
    terminated: terminated && {
      exitCode: terminated.exitCode,
      reason: terminated.reason,
      message: terminated.message?.slice(0, words.ended) || undefined,
      startedAt: terminated.startedAt,
      finishedAt: terminated.finishedAt,
    },
  }
}
