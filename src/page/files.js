/** The server's own limit, in bytes. */
const most = 7 * 1024 * 1024

/**
 * The texts of files, one after the other. Throws a RangeError if they are too large.
 * @param {readonly File[]} files
 */
export async function readFiles(files) {
  const size = files.reduce((sum, each) => sum + each.size, 0)
  if (size > most) throw new RangeError(`${files.map(({ name }) => name).join(', ')}: more than 7 MiB`)
  const texts = await Promise.all(files.map(textOf))
  return texts.reduce((all, text) => `${all}${all.endsWith('\n') ? '' : '\n'}---\n${text}`)
}

/** What PowerShell writes is UTF-16. @param {File} file */
async function textOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer())
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
  return new TextDecoder(encoding).decode(bytes)
}
