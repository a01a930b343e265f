import { LruCache } from './lru-cache.ts'

/**
 * Maximum number of cached formatters. Creating one takes a hundred times as long as using it.
 * There are some six hundred zone names, and names are case-insensitive.
 */
const FORMATTERS_MAX = 1_000

/**
 * Returns a function that computes UTC offsets in milliseconds from the runtime's time zone
 * database. It throws a RangeError for an unknown zone.
 */
export function createTimeZoneOffset(): (zone: string, ms: number) => number {
  const formatters = new LruCache<string, Intl.DateTimeFormat>({ weightMax: FORMATTERS_MAX })
  return (zone, ms) => {
    if (zone === 'UTC') return 0
    let formatter = formatters.get(zone)
    if (formatter === undefined) {
      formatter = createFormatter(zone)
      formatters.set(zone, formatter)
    }
    return wallTimeMs(formatter, ms) - Math.floor(ms / 1_000) * 1_000
  }
}

function createFormatter(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
}

/** The local time as milliseconds since 1970, as if it were UTC. */
function wallTimeMs(formatter: Intl.DateTimeFormat, ms: number): number {
  const shown: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
  for (const { type, value } of formatter.formatToParts(ms)) shown[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
  return Date.UTC(year, month - 1, day, hour, minute, second)
}
