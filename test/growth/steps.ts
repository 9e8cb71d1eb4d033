/** What looks something up, and what goes through a list: how often it is called, or how long the list is. */
const methods = [
  [Map.prototype, ['get', 'has', 'set', 'delete']],
  [Set.prototype, ['has', 'add', 'delete']],
  [
    Array.prototype,
    ['find', 'findLast', 'filter', 'map', 'flatMap', 'some', 'every', 'forEach', 'sort', 'includes', 'indexOf'],
  ],
] as const

/** How many of such steps something takes: what it costs, the same on every machine. */
export function stepsOf(work: () => void): number {
  let steps = 0
  const undo = methods.flatMap(([prototype, names]) =>
    names.map((name) => {
      const own = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor
      const value = function (this: unknown, ...args: unknown[]) {
        steps += Array.isArray(this) ? this.length : 1
        return own.value.apply(this, args)
      }
      Object.defineProperty(prototype, name, { ...own, value })
      return () => Object.defineProperty(prototype, name, own)
    }),
  )
  try {
    work()
    return steps
  } finally {
    for (const each of undo) each()
  }
}
