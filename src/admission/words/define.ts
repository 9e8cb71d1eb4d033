import type { Code, Grade } from './values.ts'

/** Data as its texts get it: nothing in it can be changed. */
type Given<D> = D extends object ? { readonly [K in keyof D]: Given<D[K]> } : D

/** What `explain` and docs/messages.md say beside the text. What is found in order needs no words. */
type Prose<G extends Grade, Next> = G extends 'ok'
  ? { readonly means?: never; readonly next?: never }
  : {
      /** In a sentence or two: what is the case, and what follows. */
      readonly means: string
      /** What to do. A sentence is for `explain` alone; what a function makes of the data is told with the message. */
      readonly next: string | Next
    }

type Plain<G extends Grade> = Prose<G, () => string> & { readonly text: string; readonly example?: never }
type About<G extends Grade, D> = Prose<G, (data: Given<D>) => string> & {
  /** An example's data, so that the text in the docs is always today's. The data's type is its type, unless another one is named. */
  readonly example: D
  readonly text: string | ((data: Given<D>) => string)
}
/** What messages of one make share; their entries have it, too. */
interface Traits extends Placed {
  readonly [trait: string]: string | number | undefined
}
/** The annotation or field that the example is about: the text begins with it. */
interface Placed {
  readonly path?: string
}

/** A message as users can look it up. */
export interface Explained {
  readonly code: Code
  readonly grade: Grade
  /** Of the example. */
  readonly text: string
  readonly means: string
  readonly next: string
}

/** A message of a set, by its kind. */
interface Tellable<D> {
  /** Its own, or that of what it passes on. */
  readonly code: Code | ((data: D) => Code)
  readonly grade: Grade
  readonly text: (data: D) => string
  /** What to do about this one. */
  readonly next?: (data: D) => string
  readonly explained?: () => Explained
}
/** One with a code of its own. */
interface Entry<D, G extends Grade> extends Tellable<D> {
  readonly code: Code
  readonly grade: G
  readonly explained: () => Explained
}

/**
 * Makes messages of one grade. An entry says all there is to say of one, and stands in a table by its kind; `src/messages/catalogue.ts` lists the tables.
 */
export function define<G extends Grade, const T extends Traits = Record<never, string>>(grade: G, traits?: T) {
  function message(code: Code, entry: Plain<G> & Placed): Entry<unknown, G> & T
  function message<D extends object>(code: Code, entry: About<G, D> & Placed): Entry<Given<D>, G> & T
  function message<D extends object>(code: Code, entry: (Plain<G> | About<G, D>) & Placed): Entry<Given<D>, G> & T {
    const { text, means = '', next = '' } = entry
    const path = entry.path ?? traits?.path
    const words = typeof text === 'string' ? () => text : text
    const explained = (): Explained => {
      const data = entry.example as Given<D>
      return {
        code,
        grade,
        text: path === undefined ? words(data) : `${path}: ${words(data)}`,
        means,
        next: typeof next === 'string' ? next : `\`${next(data)}\``,
      }
    }
    return {
      ...(traits as T),
      code,
      grade,
      text: words,
      ...(typeof next === 'function' && { next }),
      explained,
    }
  }
  return message
}

/** A message that passes on another one, under that one's code: what it means is said there. */
export function passOn<G extends Grade, D, N = unknown>(
  grade: G,
  code: (data: D) => Code,
  text: (data: D) => string,
  next?: (data: N) => string,
) {
  const made: Tellable<D & N> & { readonly grade: G } = { grade, code, text, ...(next && { next }) }
  return made
}

/** The words of a set, each made from its own data. */
export type WordsOf<T> = { readonly [K in keyof T]: { readonly text: (data: T[K]) => string } }
/** One of its messages. */
export type Of<T, K extends keyof T = keyof T> = { readonly [P in K]: { readonly kind: P } & T[P] }[K]

/** The words for a message of a set. */
export function wordsFor<T, K extends keyof T>(set: WordsOf<T>, message: Of<T, K>): string {
  return set[message.kind].text(message)
}

/** A message of a set, as it is told. */
export function tell<T, K extends keyof T>(set: { readonly [P in keyof T]: Tellable<T[P]> }, message: Of<T, K>) {
  const { code, grade, text, next } = set[message.kind]
  return {
    code: typeof code === 'function' ? code(message) : code,
    grade,
    text: text(message),
    ...(next && { next: next(message) }),
  }
}
