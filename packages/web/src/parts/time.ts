/** Converts nanoseconds since the epoch; a number has a precision of about 200 ns. */
export function dateFromNs(nanoseconds: number): Date | undefined {
  return nanoseconds <= 0 ? undefined : new Date(nanoseconds / 1e6)
}

/** Converts an RFC 3339 time; the zero time means never. */
export function dateFromText(text: string | null): Date | undefined {
  if (text === null || text === '' || text.startsWith('0001-')) return undefined
  return new Date(text)
}

const DURATION_UNITS = [
  [60, 1, 's'],
  [3_600, 60, 'm'],
  [86_400, 3_600, 'h'],
  [31_536_000, 86_400, 'd'],
  [Infinity, 31_536_000, 'y'],
] as const

/** Formats a duration with one unit: `12s`, `5m`, `3h`, `8d`. */
export function shortDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000))
  const [, unit, name] = DURATION_UNITS.find(([limit]) => seconds < limit) ?? DURATION_UNITS[4]
  return `${Math.floor(seconds / unit)}${name}`
}

/** Formats a time to the minute, in UTC. */
export function formatMinute(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** Formats the time of day in UTC of a Unix time in seconds. */
export function formatClock(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(11, 19)
}

/** Formats a future time: `2026-11-18 04:44 UTC (in 3h)`. */
export function formatFuture(date: Date, nowMs: number): string {
  return `${formatMinute(date)} (in ${shortDuration(date.getTime() - nowMs)})`
}
