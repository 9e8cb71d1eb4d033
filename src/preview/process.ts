// The process that previews: whatever is sent can slow down or exhaust this one alone. `previewer.ts` starts it and ends it.
import { constants, setPriority } from 'node:os'
import type { Configuration } from '../admission/intent/configuration.ts'
import { answerPreview, type PreviewRequest } from './answer.ts'
import { limitCpu } from './over-time.ts'

/** What it is sent; the configuration only if it has changed since the last request. */
export interface Task {
  readonly request: PreviewRequest
  readonly configuration?: Configuration
}

// Admissions in the process that started this one come first.
setPriority(constants.priority.PRIORITY_LOW)

const limit = limitCpu(Number(process.argv[2]))

let configuration: Configuration | undefined
process.on('message', (task: Task) => {
  configuration = task.configuration ?? configuration
  if (configuration === undefined) throw new Error('a task without a configuration')
  limit.start()
  process.send?.(answerPreview(task.request, configuration))
  limit.stop()
})
// A signal to a whole group is for the one that started this one, which answers what is in flight and then ends both.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
