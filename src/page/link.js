// What was typed, in a link's fragment, which browsers don't send to any server: `#m=` the manifest and `&w=` what it is previewed under,
// both deflated and in base64url.

/** The server's limit, in characters, so that a small link can't unpack to gigabytes. */
const most = 7 * 1024 * 1024
/** In characters. Firefox takes addresses of up to 1 MiB, Chromium of up to 2 MB; a link must open wherever it is sent. */
const longest = 1_040_000

/**
 * @param {string} manifest
 * @param {object} whatIf
 */
export async function toFragment(manifest, whatIf) {
  const under = Object.keys(whatIf).length === 0 ? '' : `&w=${await pack(JSON.stringify(whatIf))}`
  const fragment = `#m=${await pack(manifest)}${under}`
  if (fragment.length > longest) throw new RangeError('Too large for a link')
  return fragment
}

/**
 * What is in a fragment; undefined if it isn't one of ours. Throws if it is damaged.
 * @param {string} fragment
 * @returns {Promise<{ manifest: string, whatIf: unknown } | undefined>}
 */
export async function fromFragment(fragment) {
  const parts = /^#m=([^&]*)(?:&w=([^&]*))?$/.exec(fragment)
  if (parts === null) {
    if (/^#[mw]=/.test(fragment)) throw new SyntaxError('it has other parts')
    return undefined
  }
  const [, manifest = '', under] = parts
  return {
    manifest: await unpack(manifest),
    whatIf: under === undefined ? {} : JSON.parse(await unpack(under)),
  }
}

/** @param {string} text */
async function pack(text) {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'))
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer())
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** @param {string} text */
async function unpack(text) {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const packed = new Blob([Uint8Array.from(binary, (character) => character.charCodeAt(0))]).stream()
  const reader = packed.pipeThrough(new DecompressionStream('deflate-raw')).getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let unpacked = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    unpacked += decoder.decode(part.value, { stream: true })
    if (unpacked.length > most) {
      await reader.cancel()
      throw new RangeError('it unpacks to more than 7 MiB')
    }
  }
  return unpacked + decoder.decode()
}
