import type { Moment } from '../outcome/moment.ts'
import { lackingCode, outcomeCodes } from '../outcome/words.ts'
import type { Timeline } from './timeline.ts'
import type { Waited } from './waits.ts'

/** Times are milliseconds after `from`; those known only to the second have `exact: false`. */
export function jsonTimeline(timeline: Timeline, { waits, early }: Waited): string {
  const { namespace, name, from, until, starts, app, outcome, lacking, unknown } = timeline
  const after = (moment: Moment | undefined) =>
    moment && { after: Math.round(moment.at - from.at), exact: moment.exact }
  const containers = starts.map(({ begun, started, ready, finished, failed, hook, ...rest }) => ({
    ...rest,
    begun: after(begun),
    started: after(started),
    hook: hook && { ...hook, ended: after(hook.ended) },
    failed: after(failed),
    ready: after(ready),
    finished: after(finished),
  }))
  const code = outcomeCodes[outcome.kind]
  const told =
    outcome.kind === 'stuck'
      ? { code, ...outcome, reason: { ...outcome.reason, since: after(outcome.reason.since) } }
      : { code, ...outcome }
  const pod = { namespace, name, from: new Date(from.at).toISOString(), until: Math.round(until - from.at) }
  const start =
    timeline.sidecars.size === 0
      ? {}
      : { outcome: told, lacking: lacking.map((each) => ({ code: lackingCode, ...each })) }
  return `${JSON.stringify({ ...pod, containers, waited: { app, waits, early }, ...start, unknown }, null, 2)}\n`
}
