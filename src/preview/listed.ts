const and = new Intl.ListFormat('en-GB', { type: 'conjunction' })
const or = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** Names in a sentence; nobody reads thirty. */
const most = 5

/** A list in a sentence: `a, b and c`; of many names, the first ones. */
export const listed = (names: readonly string[]): string =>
  and.format(names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names)

/** `a, b or c` */
export const either = (texts: readonly string[]): string => or.format(texts)
