/** A path as the kubelet and the runtime read it: from the root, without dots. */
function absolute(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** Whether a path is this directory, however it is spelt. */
export const isDirectory = (path: string, directory: string): boolean => absolute(path) === directory

export function isAtOrBelow(path: string, directory: string): boolean {
  const full = absolute(path)
  return full === directory || full.startsWith(`${directory}/`)
}

/** Whether what lies at a path covers a directory of ours, which stands at the root, or something in it. */
export const covers = (path: string, directory: string): boolean =>
  isDirectory(path, '/') || isAtOrBelow(path, directory)
