// A manifest in a link's fragment, which browsers don't send to any server: `#m=`, then the manifest, deflated and in base64url.

/** The server's limit, in characters, so that a small link can't unpack to gigabytes. */
const most = 7 * 1024 * 1024

/** @param {string} text */
export async function toFragment(text) {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'))
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer())
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return `#m=${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`
}

/**
 * The manifest in a fragment; undefined if it has none. Throws if it is damaged.
 * @param {string} fragment
 */
export async function fromFragment(fragment) {
  if (!fragment.startsWith('#m=')) return undefined
  const binary = atob(fragment.slice(3).replaceAll('-', '+').replaceAll('_', '/'))
  const packed = new Blob([Uint8Array.from(binary, (character) => character.charCodeAt(0))]).stream()
  const reader = packed.pipeThrough(new DecompressionStream('deflate-raw')).getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let text = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true })
    if (text.length > most) {
      await reader.cancel()
      throw new RangeError('it unpacks to more than 7 MiB')
    }
  }
  return text + decoder.decode()
}
