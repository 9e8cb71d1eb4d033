import { type Of, type WordsOf, wordsFor } from './define.ts'
import { printable } from './printable.ts'

const longest = 1024
/** More of a name than any message shows: a pod can have one of a megabyte, told of in ten thousand warnings. */
const longestPart = longest + 1

/** The words for a message of a set: on one line, bounded, safe to print, behind its `path` if it has one. */
export function bounded<T, K extends keyof T>(set: WordsOf<T>, said: Of<T, K>, limit = longest): string {
  const words = wordsFor(set, shortened(said))
  return printable('path' in said ? `${said.path}: ${words}` : words, limit)
}

function shortened<T extends object>(said: T): T {
  const isLong = (part: unknown) => typeof part === 'string' && part.length > longestPart
  if (!Object.values(said).some(isLong)) return said
  const parts = Object.entries(said).map(([key, part]) => [key, isLong(part) ? part.slice(0, longestPart) : part])
  return Object.fromEntries(parts) as T
}
