const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * Takes a list apart while it arrives, so that one item at a time is all that there is of it: a page of thousands of pods is hundreds of
 * megabytes once it has been parsed. An item is an object in an array of the list itself; of those a list has one, `items`.
 */
export function createItemReader() {
  const around: Uint8Array[] = []
  let item: Uint8Array[] = []
  let depth = 0
  let inArray = false
  let inText = false
  let escaped = false
  return {
    /** The items, as JSON, that end in these bytes. */
    read(chunk: Uint8Array): string[] {
      const ended: string[] = []
      // From here on bytes belong to the item that is open, or to what is around it.
      let from = 0
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at]
        if (inText) {
          if (escaped) escaped = false
          else if (byte === backslash) escaped = true
          else if (byte === quote) inText = false
        } else if (byte === quote) inText = true
        else if (byte === openBrace || byte === openBracket) {
          depth++
          if (depth === 2) inArray = byte === openBracket
          if (depth === 3 && inArray) {
            around.push(copied(chunk.subarray(from, at)))
            from = at
          }
        } else if (byte === closeBrace || byte === closeBracket) {
          if (depth === 3 && inArray) {
            item.push(chunk.subarray(from, at + 1))
            ended.push(Buffer.concat(item).toString())
            item = []
            from = at + 1
          }
          depth--
        } else if (byte === comma && depth === 2 && inArray) {
          // Without the items between them.
          around.push(copied(chunk.subarray(from, at)))
          from = at + 1
        }
      }
      const open = depth >= 3 && inArray
      const left = copied(chunk.subarray(from))
      if (open) item.push(left)
      else around.push(left)
      return ended
    },
    /** The list without its items. @throws SyntaxError if it isn't a whole list */
    rest: (): { metadata?: { continue?: string; resourceVersion?: string } } =>
      JSON.parse(Buffer.concat(around).toString()),
  }
}

/** What is kept beyond a chunk: its memory may be used again. */
const copied = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes)
