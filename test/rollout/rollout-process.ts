// `sidecar-first rollout …` as a process of its own, whether main.ts knows it or not.
import { UsageError } from '../../src/cli/command.ts'
import { rollout } from '../../src/cli/rollout.ts'

try {
  process.exitCode = await rollout.run(process.argv.slice(2), { ...process, color: false })
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}
