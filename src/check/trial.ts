import type { V1Namespace, V1Pod } from '@kubernetes/client-node'
import { keys } from '../admission/keys.ts'
import { trialPod } from '../install/trial-pod.ts'
import { ClusterError } from '../kubernetes/failure.ts'
import { covering } from './coverage.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { type Check, liveMutating, needed, validConfiguration } from './site.ts'
import { injection } from './uncovered.ts'

/** Whether a pod that asks is patched, by a dry run: the API server calls the webhook and stores nothing. */
export const trial: Check = {
  name: 'dry run',
  async run({ objects, installed }) {
    const { version, mode } = validConfiguration(installed).configuration
    const { webhooks = [] } = liveMutating(installed)
    const covered = needed(installed.namespaces).filter(
      (each) => each.status?.phase !== 'Terminating' && covering(webhooks, each).length > 0,
    )
    const namespace = nameOf(covered.find((each) => nameOf(each) === 'default') ?? covered[0])
    if (namespace === undefined) {
      return [
        warning('no namespace is covered: no pod is ever patched', `kubectl label namespace NAME ${injection}=enabled`),
      ]
    }
    try {
      return judgeTrial(await objects.create(trialPod(namespace), { dryRun: true }), { namespace, version, mode })
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error
      return [judgeRefusal(error, namespace)]
    }
  },
}

const nameOf = (namespace: V1Namespace | undefined) => namespace?.metadata?.name

const elsewhere =
  "see the other findings; where they are fine, a firewall may keep the API server from the pods' port 8443"

export function judgeTrial(
  { metadata }: V1Pod,
  { namespace, version, mode }: { namespace: string; version: string; mode: 'enforce' | 'observe' },
): readonly Finding[] {
  const status = metadata?.annotations?.[keys.status]
  const what = `a pod that asks, in namespace ${namespace}`
  if (status === undefined) {
    if (mode === 'observe') return [ok(`${what}, comes back as it was: mode: observe`)]
    return [problem(`${what}, comes back unpatched: the API server gets no answer it can use`, elsewhere)]
  }
  const theirs = /"version":"([^"]*)"/.exec(status)?.[1]
  if (theirs !== undefined && theirs !== version) {
    const say = `the replicas are version ${theirs}, this is ${version}: it may judge pods differently`
    return [ok(`${what}, comes back patched`), warning(say, `use sidecar-first ${theirs} for check`)]
  }
  return [ok(`${what}, comes back patched`)]
}

export function judgeRefusal({ message }: { readonly message: string }, namespace: string): Finding {
  if (/failed calling webhook "[^"]*sidecar-first\.dev"/.test(message)) {
    return problem(`pods that ask can't be created in namespace ${namespace}: ${message}`, elsewhere)
  }
  return warning(`a pod could not be tried out in namespace ${namespace}: ${message}`)
}
