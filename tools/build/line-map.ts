/** A source map, as far as it is changed here. */
export interface SourceMap {
  readonly names: readonly string[]
  readonly mappings: string
}

/**
 * The map of a bundled file with one place for each of its lines. The first stack that is read
 * makes the runtime read the whole map and keep it: with a place for each word that is a stall of a
 * hundred milliseconds and tens of megabytes, and stack traces are not read for their columns.
 */
export function toLineMap<Text extends SourceMap>(map: Text): Text {
  let position: SourcePosition = [0, 0, 0]
  let previous: SourcePosition = position
  const lines = map.mappings.split(';').map((line) => {
    let first: SourcePosition | undefined
    for (const segment of line.split(',')) {
      const [, source, row, column] = decodeVlq(segment)
      if (source === undefined || row === undefined || column === undefined) continue
      position = [position[0] + source, position[1] + row, position[2] + column]
      first ??= position
    }
    if (first === undefined) return ''
    const written = [0, first[0] - previous[0], first[1] - previous[1], first[2] - previous[2]]
    previous = first
    return written.map(encodeVlq).join('')
  })
  return { ...map, names: [], mappings: lines.join(';') }
}

/** Source, line and column; the format writes how each differs from the one before. */
type SourcePosition = readonly [source: number, line: number, column: number]

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const valueOf = new Map([...DIGITS].map((digit, value) => [digit, value]))

/** Five bits for each digit, the lowest first; the sixth says that more follow. */
function decodeVlq(text: string): number[] {
  const numbers: number[] = []
  let value = 0
  let shift = 0
  for (const digit of text) {
    const bits = valueOf.get(digit) ?? 0
    value |= (bits & 31) << shift
    shift += 5
    if ((bits & 32) !== 0) continue
    // The lowest bit of all is the sign.
    numbers.push((value & 1) === 0 ? value >>> 1 : -(value >>> 1))
    value = 0
    shift = 0
  }
  return numbers
}

function encodeVlq(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1
  let text = ''
  do {
    const more = rest < 32 ? 0 : 32
    text += DIGITS.charAt((rest & 31) | more)
    rest >>>= 5
  } while (rest > 0)
  return text
}
