import type { Problem } from '../admission/words/messages.ts'
import type { Body } from './body.ts'
import { type Shape, scan } from './json-shape.ts'

/**
 * Bytes of a review. A pod can be stored up to 1.5 MiB (etcd's limit for a request), the API server writes `<`, `>` and `&` in a review as six
 * characters, and a creation has no old version. Only a pod of a hundred thousand empty affinity terms or the like would be larger.
 */
export const mostBytes = 10 * 1024 * 1024

/**
 * Values of a review: 1.5 MiB at four bytes for each. Stored, an environment variable with a name and a value of one letter, the most values that
 * anybody needs in the fewest bytes, takes eight for three, and a container can't start with so many (the kernel's limit is 2 MiB).
 * So many values of the worst kind take 0.4 s and 40 MiB to parse.
 */
const mostValues = 384 * 1024

/** Members of its objects: two of the three values of an environment variable. Each may bring a name that V8 keeps. */
const mostMembers = (mostValues * 2) / 3

/** Objects and lists inside each other. A pod's own fields reach 14 levels, managed fields about twice that; V8 overflows its stack at 3,000. */
const deepest = 256

/** In bytes. What is no larger can't have enough of anything to take more than 10 ms and 6 MiB, so it isn't looked at. */
const harmless = 64 * 1024

/** Why a review isn't read, if it is over a limit. */
export function excess(body: Body): Problem | undefined {
  if (!body.whole) return over('bytes', Math.max(body.size, mostBytes + 1), mostBytes)
  if (body.bytes.length <= harmless) return undefined
  const { values, members, depth }: Shape = scan(body.bytes)
  if (values > mostValues) return over('values', values, mostValues)
  if (members > mostMembers) return over('members of objects', members, mostMembers)
  return depth > deepest ? over('levels of objects and lists', depth, deepest) : undefined
}

function over(what: string, has: number, most: number): Problem {
  return { kind: 'review-too-large', what, has, most }
}
