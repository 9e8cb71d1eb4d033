import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { judge as judgeSeen } from '../../src/outcome/outcome.ts'
import { type SeenEvent, seenEvent } from '../../src/seen/event.ts'
import { type Seen as Kept, mostText } from '../../src/seen/observe.ts'
import { livePod } from '../../src/seen/pod.ts'
import { timelineOf as timelineOfSeen } from '../../src/timeline/timeline.ts'

/** What a cluster shows of a pod, as the API server sends it. */
export interface Seen {
  readonly pod: V1Pod
  readonly events: readonly CoreV1Event[] | undefined
  readonly node: readonly CoreV1Event[] | undefined
  readonly now: number
}

/** What is kept of it. */
export const seenOf = ({ pod, events, node, ...more }: Seen): Kept => ({
  ...more,
  pod: livePod(pod, mostText),
  events: keptOf(events),
  node: keptOf(node),
})

const keptOf = (events: readonly CoreV1Event[] | undefined): readonly SeenEvent[] | undefined =>
  events?.flatMap((event) => seenEvent(event, mostText) ?? [])

export const judge = (seen: Seen, more?: readonly string[]) => judgeSeen(seenOf(seen), more)
export const timelineOf = (seen: Seen, more?: readonly string[]) => timelineOfSeen(seenOf(seen), more)
