/** The Kubernetes of the node; K8S names an older one than the newest. */
const minor = process.env.K8S ? Number(process.env.K8S.split('.')[1]) : Number.POSITIVE_INFINITY

/** Variables from a file, which lock an app. Without them the API server drops the field, and refuses what is left. */
export const hasLock = minor >= 35
/** What the API server then says. */
export const lockRefused = /valueFrom: Invalid value: "": must specify one of: `fieldRef`/
/** Volumes of the type image. Without them the API server drops the field, and refuses what is left. */
export const hasImageVolumes = minor >= 35
