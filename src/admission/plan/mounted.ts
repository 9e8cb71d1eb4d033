/**
 * Whether a path is this directory, whatever slashes end it. They are looked at from the front: looking from each for the last one would take the
 * square of their number.
 */
export const isDirectory = (path: string, directory: string): boolean =>
  path.startsWith(directory) && /^\/*$/.test(path.slice(directory.length))
