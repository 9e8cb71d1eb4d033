/** Whether `text`, from `from` on, matches a pattern in which `*` means any characters, including `/`. */
export function matchesGlob(pattern: string, text: string, from = 0): boolean {
  const [first = '', ...stretches] = pattern.split('*')
  if (!text.startsWith(first, from)) return false
  let place = from + first.length
  const last = stretches.pop()
  if (last === undefined) return place === text.length
  // Each as early as it can be leaves the most for the others.
  for (const stretch of stretches) {
    const found = text.indexOf(stretch, place)
    if (found < 0) return false
    place = found + stretch.length
  }
  return place + last.length <= text.length && text.endsWith(last)
}

/** The texts of one image reference that globs are compared with. */
export interface ImageTexts {
  /** As it stands, without its digest, without its tag, and without either; each behind a slash, so that a `*` in front of one may be empty. */
  readonly bare: readonly string[]
  /** The same with a colon behind it: the tag of `:*` may be missing. */
  readonly tagged: readonly string[]
}

export function imageTexts(image: string): ImageTexts {
  const whole = `/${image}`
  const undigested = whole.replace(/@[^/@]*$/, '')
  const bare = [...new Set([whole, undigested, untagged(whole), untagged(undigested)])]
  return { bare, tagged: bare.map((text) => `${text}:`) }
}

const untagged = (text: string): string => text.replace(/:[^/:@]*$/, '')

/** An image reference without its tag and its digest. */
export const repositoryOf = (image: string): string => untagged(image.replace(/@[^/@]*$/, ''))

/**
 * Whether an image matches a glob. A glob without a tag, or with the tag `*`, matches any tag, any digest and neither; one with a tag matches it
 * with a digest, too; a leading `*` with a slash also stands for no registry.
 */
export function matchesImage(pattern: string, { bare, tagged }: ImageTexts): boolean {
  const from = pattern.startsWith('*') ? 0 : 1
  return (pattern.endsWith(':*') ? tagged : bare).some((text) => matchesGlob(pattern, text, from))
}
