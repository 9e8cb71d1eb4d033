/** Text from a manifest made safe for one line of a message: quoted, control characters escaped, long ones cut. */
export function quote(text: string, limit = 64): string {
  const characters = Array.from(text)
  const cut = characters.length > limit ? `${characters.slice(0, limit - 1).join('')}…` : text
  return JSON.stringify(cut.toWellFormed())
}
