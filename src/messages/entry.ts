/** What `docs/messages.md` and `explain` say of a message, beside its text. */
interface Meaning {
  /** In a sentence or two: what is the case, and what follows. */
  readonly means: string
}
interface Advice {
  /** What to do. */
  readonly next: string
}

type Without<T> = T extends unknown ? Omit<T, 'kind'> : never

/** The example is the data of a message, so its text is always today's. */
type Example<T> = object extends Without<T> ? { readonly example?: Without<T> } : { readonly example: Without<T> }

/** An entry for every kind of a set. */
export type Entries<T extends { readonly kind: string }> = {
  readonly [K in T['kind']]: Meaning & Advice & Example<Extract<T, { readonly kind: K }>>
}

/** Findings say themselves what to do, most of them, and those that find nothing wrong need no words. */
export type FindingEntries<T extends { readonly kind: string }> = {
  readonly [K in T['kind']]: Partial<Meaning & Advice> & Example<Extract<T, { readonly kind: K }>>
}
