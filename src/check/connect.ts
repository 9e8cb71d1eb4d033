import { createClock } from '../kubernetes/clock.ts'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { version } from '../version.ts'

/** A cluster and what is installed in it. @throws ClusterError if the API server can't be reached: nothing else could be said */
export async function connect(context: string | undefined) {
  const { kubeconfig } = await loadKubeconfig(context)
  const { connection } = await import('../kubernetes/connection.ts')
  const { objects: objectsOf } = await import('../kubernetes/objects.ts')
  const { readInstalled } = await import('./site.ts')
  const { now, heard } = createClock()
  const objects = objectsOf(connection(kubeconfig, { heard }))
  const found = await readInstalled(objects, undefined, version)
  const { mutating } = found.installed
  if (!mutating.ok && ['network', 'timeout'].includes(mutating.error.kind)) throw mutating.error
  return { kubeconfig, objects, now, version, ...found }
}
