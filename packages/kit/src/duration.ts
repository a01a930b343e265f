/** Durations and timestamps in the notation of both APIs. */

const NS_PER_MS = 1_000_000

/**
 * Nanoseconds since the epoch need 61 bits, and a number has 53. A whole number of milliseconds
 * times 10^6 still prints exactly (13 significant digits), so nanosecond fields are written and
 * read only with these two functions.
 */
export function nsFromMs(ms: number): number {
  return ms * NS_PER_MS
}

export function msFromNs(ns: number): number {
  return Math.round(ns / NS_PER_MS)
}

/** The zero time in RFC 3339, which means "never". */
export const ZERO_TIME = '0001-01-01T00:00:00Z'

export function isoFromMs(ms: number): string {
  return new Date(ms).toISOString()
}

const UNIT_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
}
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y

/**
 * Parses a Go duration such as `1h30m` or `1.5s` into nanoseconds; undefined if invalid. `0` is the
 * only number that needs no unit.
 */
export function parseDurationNs(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1
  const rest = text.replace(/^[+-]/, '')
  if (rest === '0') return 0
  if (rest === '') return undefined
  let total = 0
  PART.lastIndex = 0
  let at = 0
  while (at < rest.length) {
    PART.lastIndex = at
    const match = PART.exec(rest)
    if (match === null) return undefined
    const [whole, amount, unit] = match
    total += Number(amount) * (UNIT_NS[unit ?? ''] ?? 0)
    at += whole.length
  }
  return sign * Math.round(total)
}

/** Parses a Go duration into milliseconds. */
export function parseDurationMs(text: string): number | undefined {
  const ns = parseDurationNs(text)
  return ns === undefined ? undefined : ns / NS_PER_MS
}

/** Formats a Go duration: `2h0m0s`, `1.5s`, `250ms`, `0s`. */
export function formatDurationNs(ns: number): string {
  if (ns === 0) return '0s'
  const sign = ns < 0 ? '-' : ''
  const size = Math.abs(ns)
  if (size < 1e3) return `${sign}${size}ns`
  if (size < 1e6) return `${sign}${trim(size / 1e3)}µs`
  if (size < 1e9) return `${sign}${trim(size / 1e6)}ms`
  const hours = Math.floor(size / 3600e9)
  const minutes = Math.floor((size % 3600e9) / 60e9)
  const seconds = trim((size % 60e9) / 1e9)
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}s`
  if (minutes > 0) return `${sign}${minutes}m${seconds}s`
  return `${sign}${seconds}s`
}

function trim(value: number): string {
  // Fast path: most durations are whole seconds, and formatting decimals is slow.
  if (Number.isInteger(value)) return String(value)
  return String(Number(value.toFixed(9)))
}
