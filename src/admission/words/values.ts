/** A closed set of messages: the words for each kind, made from its data. */
export type Words = { readonly [kind: string]: { readonly text: (data: never) => string } }

/** The messages of a set as values: `kind`, and beside it the data that its words take. */
export type Values<T extends Words> = {
  [K in keyof T]: Readonly<{ kind: K }> & (Parameters<T[K]['text']> extends [infer Data] ? Data : unknown)
}[keyof T]
