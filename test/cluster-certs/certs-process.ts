// `sidecar-first certs …` as a process of its own.
import { certs } from '../../src/cli/certs.ts'

process.exit(await certs.run(process.argv.slice(2), { ...process, color: false }))
