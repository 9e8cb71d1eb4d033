/** Text on one line, at most `limit` characters: control characters out, and invisible ones that could reorder what a terminal shows. */
export function printable(text: string, limit: number): string {
  if (text.length <= limit && /^[\x20-\x7e]*$/.test(text)) return text
  const line = Array.from(text.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' '))
  return line.length <= limit ? line.join('') : `${line.slice(0, limit - 1).join('')}…`
}
