/** Nanoseconds since the epoch on the wire; a number holds them to about 200 ns: enough here. */
export function dateOfNs(nanoseconds: number): Date | undefined {
  return nanoseconds <= 0 ? undefined : new Date(nanoseconds / 1e6)
}

/** RFC 3339; the zero time of the wire means never. */
export function dateOfText(text: string | null): Date | undefined {
  if (text === null || text === '' || text.startsWith('0001-')) return undefined
  return new Date(text)
}

const STEPS = [
  [60, 1, 's'],
  [3_600, 60, 'm'],
  [86_400, 3_600, 'h'],
  [31_536_000, 86_400, 'd'],
  [Infinity, 31_536_000, 'y'],
] as const

/** `12s`, `5m`, `3h`, `8d`: how long ago, or how long it takes. */
export function shortDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000))
  const [, unit, name] = STEPS.find(([limit]) => seconds < limit) ?? STEPS[4]
  return `${Math.floor(seconds / unit)}${name}`
}

/** A moment to come, to the minute. With its zone: nobody knows whose clock is meant otherwise. */
export function minuteText(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** What a clock shows in UTC at a time in seconds, as charts count it. */
export function clockText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(11, 19)
}

/** A moment to come and how far it is: `2026-11-18 04:44 UTC (in 3h)`. */
export function comingText(date: Date, nowMs: number): string {
  return `${minuteText(date)} (in ${shortDuration(date.getTime() - nowMs)})`
}
