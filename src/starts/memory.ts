import type { SeenEvent } from '../seen/event.ts'

// What is remembered beside the pods that are followed. Each has its bounds, whoever fills it.

/**
 * Forgets the oldest of too many, a twentieth at once: V8 keeps the places of what is deleted for a while, and looking for the first of the others
 * passes them all.
 */
function makeRoom(map: Map<string, unknown>, most: number): void {
  if (map.size <= most) return
  const enough = map.size - most / 20
  for (const key of map.keys()) {
    if (map.size <= enough) break
    map.delete(key)
  }
}

/** What is gone isn't counted again if an older list still has it, in ms. */
const graveLasts = 600_000
const mostGraves = 20_000

/** Pods that are gone, by uid. @param now in ms */
export function createGraves(now: () => number) {
  const graves = new Map<string, number>()
  return {
    has: (uid: string): boolean => graves.has(uid),
    add(uid: string): void {
      graves.set(uid, now())
      makeRoom(graves, mostGraves)
    },
    /** Forgets the oldest. */
    tick(): void {
      const at = now()
      for (const [uid, since] of graves) {
        if (at - since <= graveLasts) break
        graves.delete(uid)
      }
    },
  }
}

/** Events that come before their pod are kept so long, in ms. */
const limboLasts = 60_000
const mostInLimbo = 2000

/** Events whose pod isn't known yet. Who may write events in one namespace has no say in others. @param most events of one pod */
export function createLimbo(now: () => number, most: number) {
  const limbo = new Map<string, { readonly since: number; readonly events: SeenEvent[] }>()
  const placeOf = (namespace: string, uid: string) => `${namespace}/${uid}`
  return {
    add(namespace: string, uid: string, event: SeenEvent): void {
      const place = placeOf(namespace, uid)
      if (!limbo.has(place) && limbo.size >= mostInLimbo) return
      const waiting = limbo.get(place) ?? { since: now(), events: [] }
      limbo.set(place, waiting)
      if (waiting.events.length < most) waiting.events.push(event)
    },
    /** Its pod has come. */
    take(namespace: string, uid: string): readonly SeenEvent[] {
      const place = placeOf(namespace, uid)
      const events = limbo.get(place)?.events ?? []
      limbo.delete(place)
      return events
    },
    tick(): void {
      const at = now()
      for (const [place, { since }] of limbo) if (at - since > limboLasts) limbo.delete(place)
    },
  }
}

/** A kubelet that restarts more often in an hour has other troubles. */
const mostRestarts = 5
const mostNodes = 10_000

/** When kubelets started, by their nodes' names. */
export function createKubelets() {
  const kubelets = new Map<string, readonly SeenEvent[]>()
  return {
    started(node: string, event: SeenEvent): void {
      const before = kubelets.get(node)?.filter(({ at }) => at !== event.at) ?? []
      // Clusters that grow and shrink have new nodes day by day: the one that has been silent for longest is forgotten.
      kubelets.delete(node)
      kubelets.set(node, [...before, event].toSorted((a, b) => a.at - b.at).slice(-mostRestarts))
      makeRoom(kubelets, mostNodes)
    },
    of: (node: string): readonly SeenEvent[] => kubelets.get(node) ?? [],
  }
}
