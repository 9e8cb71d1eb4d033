import type { ProgressReason, RolloutStatus, SidecarRollout } from '../types.ts'

/** What a person can do about a rollout, or that nothing has to be done; empty where there is nothing to say. */
export function nextStep({ metadata, spec }: SidecarRollout, current: RolloutStatus | undefined): string {
  if (!current) return ''
  const { name, namespace } = metadata
  const command = (action: string) => `sidecar-first rollout ${action} -n ${namespace} ${name}`
  const { phase, failure, conditions } = current
  const stuck = conditions.some(({ type, reason }) => type === 'Stalled' && reason === 'NoProgress')
  const look = failure?.pod === undefined ? '' : `see why: kubectl describe pod -n ${namespace} ${failure.pod}; `
  switch (phase) {
    case 'Stopped':
      if (!failure) return 'it goes on by itself once that has changed'
      return `${look}take it back: ${command('undo')}; or try again: ${command('resume')}`
    case 'RolledBack':
      return `${look}try again: ${command('resume')}; or give it another image: sidecar-first rollout start --name ${name} …`
    case 'Paused':
      return `let it go on: ${command('resume')}`
    case 'Waiting':
      return 'it begins by itself once the older rollout has been deleted'
    case 'RollingBack':
    case 'Progressing': {
      const reason = conditions.find(({ type }) => type === 'Progressing')?.reason as ProgressReason | undefined
      if (!stuck) return reason === 'Baking' ? 'nothing: it goes on by itself, unless the sidecar ends' : ''
      const back = phase === 'Progressing' ? `; or take it back: ${command('undo')}` : ''
      const { maxUnavailable } = spec.strategy
      if (reason === 'HeldByUnreadyPods') {
        return `see why those pods are not ready; or let more be (strategy.maxUnavailable, now ${maxUnavailable})${back}`
      }
      return `it goes on by itself if that passes${back}`
    }
    case 'Complete':
      return ''
    default:
      return phase satisfies never
  }
}
