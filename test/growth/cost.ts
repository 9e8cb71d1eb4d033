/** What a case costs more than it may. */
interface Excess {
  readonly what: string
  readonly why: string
}

/** Something that can be made n large, and then be read. */
interface Case {
  readonly name: string
  readonly make: (n: number) => unknown
  /** Of what `make` makes, as `sizeOf` counts. */
  readonly bytes: (n: number) => number
}

/** The CPU time of twice the size over that of the size. A square has 4; what is linear has 2, and a bit for a cache that it no longer fits into. */
const mostGrowth = 2.6
/** Below it, in ms, nothing is judged: the noise would be. */
const floor = 3
/** So many times as often as reading a plain body of its size may reading it cost, and so many ms beside that. */
const mostTimes = 20

/** Judges cases that are all read the same way. */
export class Judge {
  readonly excesses: Excess[] = []
  /** How many cases. */
  read = 0
  readonly #read: (input: unknown) => void
  readonly #plain: (bytes: number) => number
  readonly #linear = new Map<string, number>()

  /** @param plain the ms that a plain body of so many bytes costs */
  constructor(read: (input: unknown) => void, plain: (bytes: number) => number) {
    this.#read = read
    this.#plain = plain
  }

  /** @param family of cases that differ in what is around the same: one that costs no more than another of its family needn't be measured */
  judge({ name, make, bytes }: Case, n: number, family = name): void {
    this.read++
    const large = make(2 * n)
    let cost = this.#once(large)
    if (cost < floor || cost <= (this.#linear.get(family) ?? 0)) return
    cost = Math.min(cost, this.#least(large, 2))
    if (cost < floor || cost <= (this.#linear.get(family) ?? 0)) return
    const plain = this.#plain(bytes(2 * n))
    const small = make(n)
    let growth = cost / this.#least(small, 3)
    for (
      let again = 0;
      again < 6 && cost < 10 * limit(plain) && (growth > mostGrowth || cost > limit(plain));
      again++
    ) {
      cost = Math.min(cost, this.#least(large, 3))
      growth = cost / this.#least(small, 5)
    }
    const times = cost / plain
    // A step isn't growth: where V8 puts large texts elsewhere, say. What grows goes on growing.
    if (growth > mostGrowth && this.#least(make(4 * n), 3) / cost > mostGrowth) {
      this.excesses.push({ what: name, why: `${cost.toFixed(1)} ms, ${growth.toFixed(1)} times as much as half of it` })
    } else if (cost > limit(plain)) {
      this.excesses.push({
        what: name,
        why: `${cost.toFixed(1)} ms, ${times.toFixed(0)} times as much as a plain body`,
      })
    }
    this.#linear.set(family, Math.max(cost * 1.3, this.#linear.get(family) ?? 0))
  }

  #least(input: unknown, times: number): number {
    let least = Number.POSITIVE_INFINITY
    for (let at = 0; at < times; at++) least = Math.min(least, this.#once(input))
    return least
  }

  #once(input: unknown): number {
    return cpu(() => this.#read(input))
  }
}

/** A plain body has a value in each twenty bytes; where one has more, each takes as much. */
export function sizeOf(value: unknown): number {
  return Math.max(Buffer.byteLength(JSON.stringify(value)), valuesIn(value) * 20)
}

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, each) => sum + valuesIn(each), 1)
}

const limit = (plain: number) => mostTimes * plain + 2 * floor

/** The ms of CPU that something takes. */
export function cpu(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
