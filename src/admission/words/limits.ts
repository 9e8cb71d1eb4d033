/** Characters of an answer, nearly all of them base64. 512 sidecars, each with a hook of 1.5 KB, take as much; one that waits takes two. */
export const mostAnswer = 1024 * 1024

/** More problems than anyone reads are not collected, so that a list of 300,000 wrong items costs no more than reading it. */
export const mostProblems = 100

/** The first of those that somebody is told of, and no more than are read. */
export function told<T>(all: Iterable<T>, holds: (each: T) => boolean): readonly T[] {
  const found: T[] = []
  for (const each of all) {
    if (!holds(each)) continue
    found.push(each)
    if (found.length === mostProblems) break
  }
  return found
}
