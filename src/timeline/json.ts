import { downCode, lackingCode, outcomeCodes } from '../outcome/words.ts'
import type { Moment } from '../seen/moment.ts'
import { appStart, type Many } from './many.ts'
import type { Timeline } from './timeline.ts'
import { codeOf, partNames } from './troubles.ts'

/** Times are milliseconds after `from`; those known only to the second have `exact: false`. */
export function jsonTimeline(timeline: Timeline): string {
  const { namespace, name, from, until, starts, app, outcome, lacking, waits, late, unknown, down, appStarts } =
    timeline
  const after = (moment: Moment | undefined) =>
    moment && { after: Math.round(moment.at - from.at), exact: moment.exact }
  const containers = starts.map(({ begun, started, ready, finished, failed, hook, lives, ...rest }) => ({
    ...rest,
    lives: lives.map(({ began, ended, ...life }) => ({ ...life, began: after(began), ended: after(ended) })),
    begun: after(begun),
    started: after(started),
    hook: hook && { ...hook, ended: after(hook.ended), returned: after(hook.returned) },
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
      : {
          outcome: told,
          starts: appStarts.map(({ at, ...each }) => ({ ...each, at: after(at) })),
          ...(down && { down: { code: downCode, ...down, since: after(down.since) } }),
          lacking: lacking.map((each) => ({ code: lackingCode, ...each })),
        }
  return `${JSON.stringify({ ...pod, containers, waited: { app, waits, early: late }, ...start, unknown }, null, 2)}\n`
}

/** Times are milliseconds after the pod was given to its node. */
export function jsonMany({ timelines, groups, ...many }: Many): string {
  const pods = timelines.map((timeline) => {
    const { name, outcome, sidecars } = timeline
    const { exact = false, ms } = appStart(timeline) ?? {}
    const started = ms === undefined ? undefined : { after: ms, exact }
    return {
      name,
      ...(sidecars.size > 0
        ? { code: outcomeCodes[outcome.kind], outcome: outcome.kind }
        : { outcome: 'no-sidecars' as const }),
      started,
      waits: timeline.waits,
    }
  })
  const reasons = Object.fromEntries(
    partNames.map((name) => {
      const own = groups.filter(({ part }) => part === name)
      return [name, own.map(({ what, pods }) => ({ code: codeOf(name), what: { ...what, since: undefined }, pods }))]
    }),
  )
  return `${JSON.stringify({ ...many, reasons, pods }, null, 2)}\n`
}
