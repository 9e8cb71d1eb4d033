/** The choice that takes the fewest typing mistakes to become `text`, or undefined where all are far off. */
export function nearest(text: string, choices: readonly string[]): string | undefined {
  const length = Math.min(text.length, 64)
  const scored = choices
    .filter((choice) => Math.abs(choice.length - length) <= tolerance(choice))
    .map((choice) => ({ choice, distance: distance(text, choice) }))
  const [best] = scored.sort((a, b) => a.distance - b.distance)
  return best !== undefined && best.distance <= tolerance(best.choice) ? best.choice : undefined
}

/** Whether so many typing mistakes, or fewer, lead from a choice to `text`. */
export function isNear(text: string, choice: string, mistakes: number): boolean {
  return Math.abs(choice.length - text.length) <= mistakes && distance(text, choice) <= mistakes
}

/** The one that `text` differs from by a slip of the hand: by two letters at most, by one where there are few. Another number is another name. */
export function slipOf(text: string, choices: readonly string[]): string | undefined {
  const numbers = text.replaceAll(/\D/g, '')
  const alike = choices.filter((choice) => choice.replaceAll(/\D/g, '') === numbers)
  return nearest(
    text,
    alike.filter((choice) => isNear(text, choice, Math.min(2, (choice.length - 1) >> 1))),
  )
}

/** In keystrokes. */
const tolerance = ({ length }: string) => (length < 4 ? length >> 1 : Math.max(2, length / 3))

// Levenshtein's, a row at a time.
function distance(from: string, to: string): number {
  const letters = Array.from(to)
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [line, letter] of Array.from(from.slice(0, 64)).entries()) {
    const next = [line + 1]
    for (const [column, other] of letters.entries()) {
      const replaced = (row[column] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
