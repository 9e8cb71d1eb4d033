import type { V1Pod } from '@kubernetes/client-node'
import { ClusterError } from '../kubernetes/failure.ts'
import type { Objects } from '../kubernetes/objects.ts'
import { observe } from '../seen/observe.ts'
import { timelineBars } from '../timeline/draw.ts'
import { timelineOf } from '../timeline/timeline.ts'
import type { Picture } from './report.ts'
import { howMany, type ScannedWorkload, type Survey } from './survey.ts'

/** Draws the start of one pod of each of the worst workloads. Three calls for each; what can't be had is left out. */
export async function picturesOf(
  { workloads }: Survey,
  { objects, now, most }: { readonly objects: Objects; readonly now: () => number; readonly most: number },
): Promise<readonly Picture[]> {
  const worth = workloads.filter((each) => howMany(each, 'sure') + howMany(each, 'probable') > 0).slice(0, most)
  const pictures: Picture[] = []
  for (const of of worth) {
    const picture = await pictureOf(of, objects, now).catch((error) => {
      if (error instanceof ClusterError) return undefined
      throw error
    })
    if (picture) pictures.push(picture)
  }
  return pictures
}

/** Undefined for a pod that has vanished meanwhile, or of whose start nothing is known. */
async function pictureOf(of: ScannedWorkload, objects: Objects, now: () => number): Promise<Picture | undefined> {
  const { example = '', owner } = of
  const selection = { namespace: owner.namespace, fieldSelector: `metadata.name=${example}` }
  // Listed, not read: that is the right that a scan needs.
  const [pod] = await objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, selection)
  if (!pod) return undefined
  const seen = await observe(objects, pod, now)
  const timeline = timelineOf(
    seen,
    of.sidecars.map(({ today }) => today.sidecar),
  )
  if (timeline.starts.every(({ begun, started }) => !begun && !started)) return undefined
  const bars = timelineBars(timeline)
  const drawn = { of, pod: example, bars, ...(seen.crowded && { crowded: seen.crowded }) }
  if (bars.length <= mostBars) return drawn
  const names = [timeline.app, ...of.sidecars.map(({ today }) => today.sidecar)].slice(0, mostBars)
  return { ...drawn, bars: bars.filter(({ label }) => names.includes(label)) }
}

/** Of a pod with more containers, the app and its sidecars are drawn. */
const mostBars = 20
