/** The first of many names. */
export const firstNames = (names: readonly string[], most = 5) =>
  names.slice(0, most).join(', ') + (names.length > most ? ` and ${names.length - most} more` : '')
