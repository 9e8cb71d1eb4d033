import type { ExitCode } from '../../src/terminal/command.ts'
import { ExpectedError } from '../../src/terminal/command.ts'
import { sameName } from '../image.ts'
import type { SidecarRollout } from '../types.ts'
import { found, type Session } from './session.ts'

/** The image of the container in a template, and the workload that has it. */
interface Template {
  readonly holder: { readonly kind: string; readonly name: string }
  readonly image: string
}

/**
 * Deletes a rollout whose image is in the templates by now. It changes no template: that would recreate pods, which is for the app's next
 * release.
 * @param templates of the workloads that own the rollout's pods
 * @throws ExpectedError while one of them would still create pods with an image that was replaced
 */
export async function finish(
  session: Session,
  name: string,
  { templates, force }: { templates: (rollout: SidecarRollout) => Promise<readonly Template[]>; force: boolean },
): Promise<ExitCode> {
  const { cluster, namespace, terminal } = session
  const rollout = await found(session, name)
  const { container, image } = rollout.spec
  const origins = rollout.status?.origins ?? []
  const behind = (await templates(rollout)).filter((one) => origins.some((origin) => sameName(origin, one.image)))
  const lines = behind.map(
    ({ holder }) =>
      `kubectl set image -n ${namespace} ${holder.kind.toLowerCase()}/${holder.name} ${container}=${image}`,
  )
  const list = lines.map((line) => `  ${line}\n`).join('')
  if (behind.length > 0 && !force) {
    const why = `${behind.length} of the templates would still create pods with the old image`
    throw new ExpectedError(
      'would-harm',
      `${why}. Set them with the app's next release, or use --force:\n${list.trimEnd()}`,
    )
  }
  await cluster.remove(rollout)
  terminal.stdout.write(`sidecarrollout/${name} deleted; no pod has changed\n`)
  if (behind.length > 0) terminal.stdout.write(`New pods get the old image until its template is set:\n${list}`)
  return 0
}
