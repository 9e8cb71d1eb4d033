/** Whether `text` fits a pattern in which `*` stands for any characters, `/` among them. Takes at most pattern × text steps. */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0
  let place = 0
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

const separators = /[^A-Za-z0-9]+/

/** The words of an image reference: what stands between its separators. */
export function wordsOf(text: string): readonly string[] {
  return text.split(separators).filter((word) => word !== '')
}

/** A word that every text which fits the pattern has as a whole word, the longest; undefined where there is none. */
export function surestWord(pattern: string): string | undefined {
  // Next to a "*" a word may go on, so only words with separators (or the pattern's ends) around them are sure.
  const sure = pattern.split('*').flatMap((chunk, index, chunks) => {
    const words = chunk.split(separators)
    return words.slice(index === 0 ? 0 : 1, index === chunks.length - 1 ? words.length : -1)
  })
  return sure.filter((word) => word !== '').sort((a, b) => b.length - a.length)[0]
}
