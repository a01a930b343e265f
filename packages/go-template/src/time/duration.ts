const UNIT_NS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
  ['d', 86_400_000_000_000n],
  ['w', 604_800_000_000_000n],
  ['y', 31_536_000_000_000_000n],
])

const PART = /([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h|d|w|y)/y
const INT64_MAX = 2n ** 63n - 1n
const DIGITS_MAX = 40

/** Nanoseconds of a text like `1h30m` or `1.5d`, exactly; nothing when it is no duration. */
export function parseDuration(text: string): bigint | undefined {
  const isNegative = text.startsWith('-')
  const rest = text.replace(/^[+-]/, '')
  if (rest === '0') return 0n
  if (rest === '') return undefined
  let total = 0n
  let at = 0
  while (at < rest.length) {
    PART.lastIndex = at
    const match = PART.exec(rest)
    if (match === null) return undefined
    const [part, whole = '', fraction = '', unit = ''] = match
    if (whole + fraction === '' || whole.length + fraction.length > DIGITS_MAX) return undefined
    const scale = UNIT_NS.get(unit) ?? 0n
    total += BigInt(whole || '0') * scale
    total += (BigInt(fraction || '0') * scale) / 10n ** BigInt(fraction.length)
    at += part.length
  }
  if (total > INT64_MAX + (isNegative ? 1n : 0n)) return undefined
  return isNegative ? -total : total
}
