/** client-node's type of an object as its JSON comes over the wire: times are text, and nothing may be changed. */
export type Wire<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Wire<T[Key]> }
      : T
