import type { Moment } from './moment.ts'
import type { Timeline } from './timeline.ts'
import type { Waited } from './waits.ts'

/** Times are milliseconds after `from`; those known only to the second have `exact: false`. */
export function jsonTimeline({ namespace, name, from, until, starts, unknown }: Timeline, waited: Waited): string {
  const after = (moment: Moment | undefined) =>
    moment && { after: Math.round(moment.at - from.at), exact: moment.exact }
  const containers = starts.map(({ begun, started, ready, finished, hook, ...rest }) => ({
    ...rest,
    begun: after(begun),
    started: after(started),
    hook: hook && { ...hook, ended: after(hook.ended) },
    ready: after(ready),
    finished: after(finished),
  }))
  const pod = { namespace, name, from: new Date(from.at).toISOString(), until: Math.round(until - from.at) }
  return `${JSON.stringify({ ...pod, containers, waited, unknown }, null, 2)}\n`
}
