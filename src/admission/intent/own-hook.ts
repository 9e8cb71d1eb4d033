/** Characters of an argument that are read: what a known sidecar's own hook runs stands at its beginning. */
const mostRead = 4096

/**
 * Whether a hook's command runs what a well-known sidecar waits with. It may be a shell's, so it is split into words, each without its folder;
 * `strictly`: it has to be the program itself, since a shell may only mention it.
 */
export function runsOwnHook(own: readonly string[], command: readonly string[], strictly: boolean): boolean {
  const words = command
    .slice(0, 16)
    .map((argument) => argument.slice(0, mostRead))
    .flatMap((argument) => (strictly ? [argument] : argument.split(/[\s;&|]+/)))
    .map((word) => word.replace(/^.*\//, ''))
  const starts = strictly ? [0] : [...words.keys()]
  return starts.some((at) => own.every((word, offset) => words[at + offset] === word))
}
