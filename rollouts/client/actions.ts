import { type ExitCode, ExpectedError } from '../../src/terminal/command.ts'
import { sameName } from '../image.ts'
import type { Revision, SidecarRollout } from '../types.ts'
import type { SpecChange } from './calls.ts'
import { found, type Session, sayNobody } from './session.ts'
import { wait } from './status.ts'

/** What an action does to a rollout's spec. */
interface Change {
  /** Applied one after the other. */
  readonly changes: (before: SidecarRollout) => readonly SpecChange[]
  /** What to say after the rollout's name. */
  readonly does: (before: SidecarRollout) => string
}

export const pause: Change = {
  changes: () => [{ strategy: { paused: true } }],
  does: () => 'is paused; pods in progress are finished',
}

/** After a failure only a changed spec is a new attempt. */
export const resume: Change = {
  changes({ status }) {
    const failed = status?.phase === 'Stopped' || status?.phase === 'RolledBack'
    const go = { strategy: { paused: false } }
    return failed ? [{ strategy: { paused: true } }, go] : [go]
  },
  does: () => 'continues',
}

export const promote = (partition: number | string): Change => ({
  changes: () => [{ strategy: { partition, rest: 'base' } }],
  does: () => `continues to partition ${partition}`,
})

/** Back to what was complete last, or to what each pod had, if nothing was. */
export const undo: Change = {
  changes(before) {
    const base = baseOf(before)
    const strategy = { partition: base?.partition ?? '100%', paused: false, rest: 'base' } as const
    return [base ? { image: base.image, strategy } : { strategy }]
  },
  does(before) {
    const base = baseOf(before)
    return base ? `goes back to ${base.image}, partition ${base.partition}` : 'puts each pod back to the image it had'
  },
}

export const undoToOrigin: Change = {
  changes: () => [{ strategy: { partition: '100%', paused: false, rest: 'origin' } }],
  does: () => 'puts each pod back to the image it had at first',
}

/** The last image and share that were complete, other than the present ones. */
function baseOf({ spec, status }: SidecarRollout): Revision | undefined {
  const revisions = status?.revisions ?? []
  const present = revisions.at(-1)
  const greater = present?.completed === true && present.partition !== spec.strategy.partition
  if (greater && sameName(present.image, spec.image)) return present
  return revisions.slice(0, -1).findLast(({ completed }) => completed)
}

/** Makes a change, reports it, and waits if asked to. @throws ExpectedError, ClusterError */
export async function change(session: Session, name: string, { changes, does: says }: Change): Promise<ExitCode> {
  const { cluster, terminal } = session
  const before = await found(session, name)
  let after = before
  const does = says(before)
  for (const one of changes(before)) after = await cluster.change(name, one)
  const changed = after.metadata.generation !== before.metadata.generation
  const paused = after.spec.strategy.paused && says !== pause.does ? '; the rollout is paused, resume it' : ''
  terminal.stdout.write(`sidecarrollout/${name} ${changed ? does : `is unchanged: it already ${does}`}${paused}\n`)
  if (session.wait) return await wait(session, name)
  if ((await cluster.hasController()) === false) await sayNobody(session)
  return 0
}

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
