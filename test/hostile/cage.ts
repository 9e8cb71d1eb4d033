import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'

/** A cgroup with a memory limit, in which the kernel ends what takes more. */
interface Cage {
  /** For people. */
  readonly name: string
  /** The file that a process writes its id to, to be in it. */
  readonly door: string
  remove(): void
}

/** Makes one, or says why it can't. */
export function makeCage(bytes: number): Cage | string {
  const own = `sidecar-first-hostile-${randomUUID()}`
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
    const v1 = mounts.find(([, , type, options]) => type === 'cgroup' && options?.split(',').includes('memory'))?.[1]
    const v2 = mounts.find(([, path, type]) => type === 'cgroup2' && has(`${path}/cgroup.controllers`, 'memory'))?.[1]
    if (v1 !== undefined) return cage(`cgroup v1, ${v1}`, `${v1}/${own}`, { 'memory.limit_in_bytes': bytes })
    if (v2 !== undefined) {
      if (!has(`${v2}/cgroup.subtree_control`, 'memory')) writeFileSync(`${v2}/cgroup.subtree_control`, '+memory')
      return cage(`cgroup v2, ${v2}`, `${v2}/${own}`, { 'memory.max': bytes, 'memory.swap.max': 0 })
    }
    return 'no cgroup file system with the memory controller is mounted'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const has = (file: string, word: string): boolean => existsSync(file) && readFileSync(file, 'utf8').includes(word)

function cage(name: string, path: string, limits: Readonly<Record<string, number>>): Cage {
  mkdirSync(path)
  try {
    for (const [file, value] of Object.entries(limits)) {
      // Where there is no swap, its limit has no file either.
      if (file === 'memory.swap.max' && !existsSync(`${path}/${file}`)) continue
      writeFileSync(`${path}/${file}`, String(value))
    }
  } catch (error) {
    rmdirSync(path)
    throw error
  }
  return { name, door: `${path}/cgroup.procs`, remove: () => rmdirSync(path) }
}
