import type { ChildProcess } from 'node:child_process'

/** What a process has said so far, on both of its streams together. */
export function heard({ stdout, stderr }: ChildProcess): () => string {
  let text = ''
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
  }
  return () => text
}
