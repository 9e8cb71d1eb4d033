/** What Linux says of a process. */
import { readdir, readFile } from 'node:fs/promises'

/** Its memory in KiB: resident, the peak of that, or the parts that are its own and its files'. */
export async function memoryOf(pid: number | undefined, which: 'VmRSS' | 'VmHWM' | 'RssAnon' | 'RssFile') {
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** Nanoseconds of CPU that all its threads have used. */
export async function cpuTimeOf(pid: number | undefined): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`)
  const times = threads.map(async (thread) => {
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')
    return Number(text.split(' ')[0])
  })
  return (await Promise.all(times)).reduce((sum, time) => sum + time, 0)
}
