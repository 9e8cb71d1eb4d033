/** A closed set of messages: the words for each kind, made from its data. */
export type Words = { readonly [kind: string]: { readonly text: (data: never) => string } }

/**
 * What users look a message up by, search for and silence: `SF101`. Its hundred is the area, and it never means anything else: `docs/messages.md`
 * and `test/messages/codes.txt` have them all. A new message takes the next number of its hundred.
 */
export type Code = `SF${number}`
/** A message as it is told. */
export interface Coded {
  readonly code: Code
  readonly text: string
}
/** `refusal`: nothing goes on until it is put right. `problem` and `ok` are what `check` finds. */
export type Grade = 'refusal' | 'problem' | 'warning' | 'note' | 'ok'
/** The messages of a set as values: `kind`, and beside it the data that its words take. */
export type Values<T extends Words> = {
  [K in keyof T]: Readonly<{ kind: K }> & (Parameters<T[K]['text']> extends [infer Data] ? Data : unknown)
}[keyof T]
