// `sidecar-first rollouts …` as a process of its own.
import { rollouts } from '../../src/cli/rollouts.ts'

process.exit(await rollouts.run(process.argv.slice(2), { ...process, color: false }))
