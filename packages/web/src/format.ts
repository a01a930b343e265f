import type { Failure } from '@reeve/contract'

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

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** Formats a size with up to three digits: `640 B`, `1.5 KiB`, `12 GiB`. */
export function formatBytes(bytes: number): string {
  let value = Math.max(0, bytes)
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  const digits = unit === 0 || value >= 100 || Number.isInteger(value) ? 0 : 1
  return `${value.toFixed(digits)} ${UNITS[unit] ?? 'B'}`
}

/** Formats a size that the API counts in megabytes. */
export function formatMegabytes(megabytes: number): string {
  return formatBytes(megabytes * 1024 * 1024)
}

/** Splits a text at commas and spaces. */
export function parseNames(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '')
}

/** ANSI colour sequences. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const ANSI_COLOURS = /\u001b\[[0-9;]*m/g

/** Control characters and bidirectional overrides, which can disguise text. */
// oxlint-disable-next-line no-control-regex -- the same
const INVISIBLE_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * Makes untrusted text safe to display: removes colours, and replaces control characters and
 * bidirectional overrides by visible symbols. Line feeds and tabs stay.
 */
export function visibleText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(ANSI_COLOURS, '')
    .replaceAll(INVISIBLE_CHARACTERS, visibleSign)
}

/** Like `visibleText`, for names: line feeds and tabs are replaced too. */
export function visibleName(name: string): string {
  return name.replaceAll(/[\n\t]/g, visibleSign).replaceAll(INVISIBLE_CHARACTERS, visibleSign)
}

/** First code point of the Unicode symbols for ASCII control characters. */
const CONTROL_PICTURES = 0x24_00

function visibleSign(character: string): string {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(CONTROL_PICTURES + code)
  return code === 0x7f ? '␡' : `\\u${code.toString(16).padStart(4, '0')}`
}

/** Prefixes the task: texts such as `exited with code 1` continue the sentence. */
export function failureTitle({ Kind, Task, Text }: Failure): string {
  if (Task === '') return Text
  return Kind === 'exit' || Kind === 'oom' ? `Task "${Task}" ${Text}` : `Task "${Task}": ${Text}`
}
