/** A source map, as far as it is changed here. */
export interface MapText {
  readonly names: readonly string[]
  readonly mappings: string
}

/**
 * The map of a bundled file with one place for each of its lines. The first stack that is read
 * makes the runtime read the whole map and keep it: with a place for each word that is a stall of a
 * hundred milliseconds and tens of megabytes, and stack traces are not read for their columns.
 */
export function toLineMap<Text extends MapText>(map: Text): Text {
  let at: Place = [0, 0, 0]
  let last: Place = at
  const lines = map.mappings.split(';').map((line) => {
    let first: Place | undefined
    for (const segment of line.split(',')) {
      const [, source, row, column] = fromDigits(segment)
      if (source === undefined || row === undefined || column === undefined) continue
      at = [at[0] + source, at[1] + row, at[2] + column]
      first ??= at
    }
    if (first === undefined) return ''
    const written = [0, first[0] - last[0], first[1] - last[1], first[2] - last[2]]
    last = first
    return written.map(toDigits).join('')
  })
  return { ...map, names: [], mappings: lines.join(';') }
}

/** Source, line and column; the format writes how each differs from the one before. */
type Place = readonly [source: number, line: number, column: number]

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const valueOf = new Map([...DIGITS].map((digit, value) => [digit, value]))

/** Five bits for each digit, the lowest first; the sixth says that more follow. */
function fromDigits(text: string): number[] {
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

function toDigits(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1
  let text = ''
  do {
    const more = rest < 32 ? 0 : 32
    text += DIGITS.charAt((rest & 31) | more)
    rest >>>= 5
  } while (rest > 0)
  return text
}
