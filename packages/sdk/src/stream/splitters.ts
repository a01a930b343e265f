/**
 * Cuts a body that arrives in chunks into the texts it is made of. Chunks end anywhere, also
 * inside a character. There is a limit, because a text that never ends would fill the memory.
 */
export interface Splitter {
  /** The texts that this chunk completes. */
  push(chunk: Uint8Array): readonly string[]
  /** Whether the body may end here; otherwise it was cut. */
  readonly isBetween: boolean
}

/** A body that is not what it should be: not UTF-8, too long, or not JSON where JSON must begin. */
export class SplitError extends Error {
  override readonly name = 'SplitError'
}

/** Splitting at each newline gives one JSON object per line. */
export function splitLines(charsMax: number): Splitter {
  const decode = utf8Decoder()
  let rest = ''
  return {
    push(chunk) {
      const [first = '', ...others] = decode(chunk).split('\n')
      const lines = [rest + first, ...others]
      rest = lines.pop() ?? ''
      if (rest.length > charsMax) throw new SplitError('a line that does not end')
      return lines.filter((line) => line.trim() !== '')
    },
    get isBetween() {
      return rest.trim() === ''
    },
  }
}

/** Objects follow each other without a separator. */
export function splitObjects(charsMax: number): Splitter {
  const decode = utf8Decoder()
  const scan = objectScanner()
  let rest = ''
  return {
    push(chunk) {
      const text = decode(chunk)
      const objects: string[] = []
      let start = 0
      for (let at = 0; at < text.length; at++) {
        if (!scan.ends(text.charCodeAt(at))) continue
        objects.push(rest + text.slice(start, at + 1))
        rest = ''
        start = at + 1
      }
      rest += text.slice(start)
      if (rest.length > charsMax) throw new SplitError('a frame that does not end')
      return objects
    },
    get isBetween() {
      return rest.trim() === ''
    },
  }
}

const code = { quote: 0x22, backslash: 0x5c, open: 0x7b, close: 0x7d, space: 0x20 }

/** Follows braces and strings; what stands between them is the parser's to check. */
function objectScanner(): { ends(unit: number): boolean } {
  let depth = 0
  let isText = false
  let isEscaped = false
  function endsText(unit: number): boolean {
    if (isEscaped) isEscaped = false
    else if (unit === code.backslash) isEscaped = true
    else return unit === code.quote
    return false
  }
  return {
    ends(unit) {
      if (isText) {
        isText = !endsText(unit)
        return false
      }
      if (depth === 0 && unit > code.space && unit !== code.open) {
        throw new SplitError('something between the frames')
      }
      isText = unit === code.quote
      if (unit === code.open) depth += 1
      if (unit === code.close) depth -= 1
      return unit === code.close && depth === 0
    },
  }
}

function utf8Decoder(): (chunk: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (chunk) => {
    try {
      return decoder.decode(chunk, { stream: true })
    } catch (error) {
      throw new SplitError('bytes that are not text', { cause: error })
    }
  }
}
