/** What a parser gives: the value, or one problem that a user can act on. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string }

export const parsed = <T>(value: T): Parsed<T> => ({ ok: true, value })
export const problem = (text: string): { readonly ok: false; readonly problem: string } => ({
  ok: false,
  problem: text,
})
