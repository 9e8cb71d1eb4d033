const keys = Array.from({ length: 50_000 }, (_, index) => `k${index}: `)

/** A manifest that keeps a preview busy for minutes, and takes little memory: one map, merged over and over into another. */
export const slow = `a: &a {${keys.join(', ')}}\nb: {<<: [${Array(9000).fill('*a').join(', ')}]}\n`
