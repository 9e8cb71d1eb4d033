import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { heard } from '../../heard.ts'
import { SECOND, until } from '../../until.ts'

export interface Controller {
  /** What it has used since its start: CPU in ms, and its memory at most, in MiB. */
  used(): { cpu: number; peak: number }
  log(): string
  stop(): Promise<void>
}

/** The clock ticks of /proc are a hundredth of a second on every Linux. */
const TICK = 10

/**
 * `sidecar-first rollouts run` as a process of its own, once it leads.
 * @param kubeconfig a file's path
 * @param program its entry: the sources, or a bundle, which needs less memory
 * @param options Node's own
 */
export async function startController(
  kubeconfig: string,
  {
    program = 'src/main.ts',
    flags = [],
    options = '',
  }: { program?: string; flags?: readonly string[]; options?: string } = {},
): Promise<Controller> {
  const args = [program, 'rollouts', 'run', '--metrics-port', '0', '--lease', '6s', ...flags]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, KUBECONFIG: kubeconfig, NODE_OPTIONS: options },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out = heard(child)
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  const proc = (file: string) => readFileSync(`/proc/${child.pid}/${file}`, 'utf8')
  try {
    await until('a controller that leads', 30 * SECOND, async () => {
      if (child.exitCode !== null) throw new Error('the controller ended')
      return out().includes('"leads"')
    })
  } catch (error) {
    await stop()
    throw new Error(`the controller did not start:\n${out()}`, { cause: error })
  }
  return {
    used() {
      // Behind the name, which may hold anything: utime and stime are the 14th and 15th of all.
      const fields = proc('stat')
        .replace(/^.*\) /s, '')
        .split(' ')
      const peak = Number(/VmHWM:\s+(\d+) kB/.exec(proc('status'))?.[1]) / 1024
      return { cpu: (Number(fields[11]) + Number(fields[12])) * TICK, peak }
    },
    log: out,
    stop,
  }
}
