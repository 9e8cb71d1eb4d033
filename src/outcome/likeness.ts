import type { Early, Lacking, Stuck, Unknown } from './why.ts'

// By what the starts of several pods are alike: what containers say and how long things took differs from pod to pod.

export const likeReason = ({ why, sidecars }: Early | Unknown): string => `${why} ${sidecars.join('+')}`

export const likeStuck = ({ why, container }: Stuck): string => `${why} ${container}`

export const likeLacking = ({ why, sidecar }: Lacking): string => `${why} ${sidecar}`
