import type { ExitCode } from '../../src/terminal/command.ts'
import { rolloutCodes } from '../codes.ts'

import { found, type Session } from './session.ts'
import { viewOf } from './view.ts'
import { rolloutsTable, rolloutText } from './view-text.ts'
import { outcomeOf, wait } from './wait.ts'

/** Shows one rollout, or all in the namespace if none is named; as JSON for programs. @throws ExpectedError, ClusterError */
export async function show(session: Session, name: string | undefined, json: boolean): Promise<ExitCode> {
  const { cluster, namespace, terminal } = session
  const rollouts = name === undefined ? await cluster.list() : [await found(session, name)]
  if (session.wait && name !== undefined) return await wait(session, name)
  const views = []
  for (const one of rollouts) views.push(viewOf(one, await cluster.pods(one.spec.selector), cluster.now()))
  const [view] = views
  if (json) terminal.stdout.write(`${JSON.stringify(name === undefined ? views : view, undefined, 2)}\n`)
  else if (view === undefined)
    terminal.stderr.write(`${rolloutCodes.none} there are no rollouts in namespace ${namespace}\n`)
  else terminal.stdout.write(name === undefined ? rolloutsTable(views) : rolloutText(view))
  const [only] = name === undefined ? [] : rollouts
  const outcome = only && outcomeOf(only)
  return outcome === undefined || outcome === 'done' ? 0 : 1
}
