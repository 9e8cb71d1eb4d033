/** What Linux says of a process. */
import { readdir, readFile } from 'node:fs/promises'

/** Its memory in KiB: resident, the peak of that, or the parts that are its own and its files'. */
export async function memoryOf(pid: number | undefined, which: 'VmRSS' | 'VmHWM' | 'RssAnon' | 'RssFile') {
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** Nanoseconds of CPU that all its threads have used. */
export const cpuTimeOf = (pid: number | undefined): Promise<number> => sumOf(pid, 'schedstat', /^\d+/)

/** How often its threads have gone to sleep by themselves. */
export const switchesOf = (pid: number | undefined): Promise<number> =>
  sumOf(pid, 'status', /(?<=^voluntary_ctxt_switches:\s+)\d+/m)

async function sumOf(pid: number | undefined, file: string, number: RegExp): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`)
  const numbers = threads.map(async (thread) => {
    const text = await readFile(`/proc/${pid}/task/${thread}/${file}`, 'utf8').catch(() => '')
    return Number(number.exec(text)?.[0] ?? 0)
  })
  return (await Promise.all(numbers)).reduce((sum, each) => sum + each, 0)
}
