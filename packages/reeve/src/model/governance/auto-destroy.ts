const HOUR_MS = 3_600_000

/** Converts an inactivity duration, `14d` or `8h`; the schema has validated the format. */
export function inactivityMs(duration: string): number {
  const hours = Number.parseInt(duration, 10) * (duration.endsWith('d') ? 24 : 1)
  return hours * HOUR_MS
}
