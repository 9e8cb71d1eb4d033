/**
 * Rows in which every choice of `strength` factors together stands at least once: far fewer than all of them. The same at each run.
 * @param sizes how many values each factor has
 */
export function covering(sizes: readonly number[], strength: 2 | 3): readonly (readonly number[])[] {
  const key = `${sizes}/${strength}`
  const known = made.get(key)
  if (known !== undefined) return known
  const open = new Set<string>()
  for (const columns of combinations(sizes.length, strength)) {
    for (const values of product(columns.map((column) => sizes[column] ?? 0))) open.add(named(columns, values))
  }
  const random = generator(1)
  const rows: number[][] = []
  for (let first = open.values().next(); !first.done; first = open.values().next()) {
    let best: { row: number[]; covers: string[] } = { row: [], covers: [] }
    for (let attempt = 0; attempt < 6; attempt++) {
      const row = sizes.map((size) => Math.floor(random() * size))
      for (const pair of first.value.split(' ')) {
        const [column = 0, value = 0] = pair.split(':').map(Number)
        row[column] = value
      }
      const covers = combinations(sizes.length, strength)
        .map((columns) =>
          named(
            columns,
            columns.map((column) => row[column] ?? 0),
          ),
        )
        .filter((each) => open.has(each))
      if (covers.length > best.covers.length) best = { row, covers }
    }
    for (const each of best.covers) open.delete(each)
    rows.push(best.row)
  }
  made.set(key, rows)
  return rows
}
const made = new Map<string, readonly (readonly number[])[]>()

const named = (columns: readonly number[], values: readonly number[]) =>
  columns.map((column, at) => `${column}:${values[at]}`).join(' ')

function combinations(count: number, size: number, from = 0): readonly (readonly number[])[] {
  if (size === 0) return [[]]
  return Array.from({ length: count - from }, (_, at) => from + at).flatMap((first) =>
    combinations(count, size - 1, first + 1).map((rest) => [first, ...rest]),
  )
}

function product(sizes: readonly number[]): readonly (readonly number[])[] {
  const [size, ...rest] = sizes
  if (size === undefined) return [[]]
  const others = product(rest)
  return Array.from({ length: size }, (_, value) => value).flatMap((value) => others.map((other) => [value, ...other]))
}

/** mulberry32. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
