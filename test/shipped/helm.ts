import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { chart } from '../../scripts/shipped/chart.ts'
import { goTool } from './go-tool.ts'

const execute = promisify(execFile)
let program: Promise<string> | undefined

/** Real Helm, built from its Go module: what it prints. */
export const helm = async (args: readonly string[], env: Record<string, string> = {}): Promise<string> =>
  (await runHelm(args, env)).stdout

export async function runHelm(args: readonly string[], env: Record<string, string> = {}) {
  program ??= goTool('helm')
  return execute(await program, [...args], { env: { ...process.env, ...env }, maxBuffer: 1 << 26 })
}

/** The chart in a folder of its own, which the caller removes. */
export function chartFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sidecar-first-chart-'))
  for (const [path, text] of chart()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}
