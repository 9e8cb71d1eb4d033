// The process that previews: whatever is sent can slow down or exhaust this one alone. `previewer.ts` starts it and ends it.
import { constants, setPriority } from 'node:os'
import type { Configuration } from '../admission/configuration.ts'
import { answerPreview, type PreviewRequest } from './answer.ts'

/** What it is told; a configuration only where it isn't the one of the request before. */
export interface Task {
  readonly request: PreviewRequest
  readonly configuration?: Configuration
}

// Admissions in the process that started this one come first.
setPriority(constants.priority.PRIORITY_LOW)

let configuration: Configuration | undefined
process.on('message', (task: Task) => {
  configuration = task.configuration ?? configuration
  if (configuration === undefined) throw new Error('a task without a configuration')
  process.send?.(answerPreview(task.request, configuration))
})
// A signal to a whole group is for the one that started this one, which answers what is in flight and then ends both.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
