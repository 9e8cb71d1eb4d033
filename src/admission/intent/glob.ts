/** Whether `text`, from `place` on, matches a pattern in which `*` means any characters, including `/`. Takes at most pattern × text steps. */
export function matchesGlob(pattern: string, text: string, from = 0): boolean {
  let at = 0
  let place = from
  let star = -1
  let resume = 0
  while (place < text.length) {
    if (pattern[at] === '*') {
      star = at
      at += 1
      resume = place
    } else if (at < pattern.length && pattern[at] === text[place]) {
      at += 1
      place += 1
    } else if (star >= 0) {
      at = star + 1
      resume += 1
      place = resume
    } else return false
  }
  while (pattern[at] === '*') at += 1
  return at === pattern.length
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
