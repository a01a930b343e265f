import { LruCache } from './lru-cache.ts'

/**
 * Formatters that are kept: making one takes a hundred times as long as using it. There are some
 * six hundred names of zones, but a name may be spelled in capitals or not.
 */
const FORMATTERS_MAX = 1_000

/**
 * How far the wall clocks of time zones are ahead of UTC, from the time zone database of the
 * runtime. Throws a RangeError for a zone that it does not know.
 */
export function createZoneOffsets(): (zone: string, ms: number) => number {
  const formatters = new LruCache<string, Intl.DateTimeFormat>({ weightMax: FORMATTERS_MAX })
  return (zone, ms) => {
    if (zone === 'UTC') return 0
    let formatter = formatters.get(zone)
    if (formatter === undefined) {
      formatter = wallClock(zone)
      formatters.set(zone, formatter)
    }
    return readWallClock(formatter, ms) - Math.floor(ms / 1_000) * 1_000
  }
}

function wallClock(timeZone: string): Intl.DateTimeFormat {
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

/** What the clock shows, written as if it were UTC. */
function readWallClock(formatter: Intl.DateTimeFormat, ms: number): number {
  const shown: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
  for (const { type, value } of formatter.formatToParts(ms)) shown[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
  return Date.UTC(year, month - 1, day, hour, minute, second)
}
