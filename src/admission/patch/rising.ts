/** The positions of a longest rising run: what is there needn't move. */
export function longestRising(numbers: readonly number[]): ReadonlySet<number> {
  // Patience sorting: tails[k] is the position that ends the best run of length k + 1.
  const tails: number[] = []
  const previous: number[] = []
  for (const [position, number] of numbers.entries()) {
    let low = 0
    let high = tails.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((numbers[tails[middle] ?? 0] ?? 0) < number) low = middle + 1
      else high = middle
    }
    previous[position] = low > 0 ? (tails[low - 1] ?? -1) : -1
    tails[low] = position
  }
  const run = new Set<number>()
  for (let position = tails.at(-1) ?? -1; position >= 0; position = previous[position] ?? -1) run.add(position)
  return run
}
