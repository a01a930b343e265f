import { msFromNs } from '@reeve/kit/duration.ts'
import { displayWidth } from './color.ts'

const GAP = '  '

/** Formats rows with a heading and aligned columns; the last column is not padded. */
export function renderTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  if (rows.length === 0) return ''
  const lines = [heading, ...rows]
  const widths = heading.map((_, column) =>
    Math.max(...lines.map((line) => displayWidth(line[column] ?? ''))),
  )
  return lines.map((line) => alignedLine(line, widths)).join('')
}

function alignedLine(line: readonly string[], widths: readonly number[]): string {
  const cells = line.map((cell, column) => {
    const isLast = column === line.length - 1
    return isLast ? cell : cell + ' '.repeat((widths[column] ?? 0) - displayWidth(cell))
  })
  return `${cells.join(GAP).trimEnd()}\n`
}

/** Formats names and values, one per line. */
export function renderFields(entries: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(0, ...entries.map(([name]) => displayWidth(name)))
  return entries
    .map(([name, value]) => `${name}${' '.repeat(width - displayWidth(name))} = ${value}`.trimEnd())
    .map((line) => `${line}\n`)
    .join('')
}

/** Shortens a UUID to its first part. */
export function shortenId(id: string): string {
  return /^[0-9a-f]{8}-/.test(id) ? id.slice(0, 8) : id
}

/** Formats names and values, without empty values. */
export function renderNonEmptyFields(
  entries: readonly (readonly [name: string, value: string])[],
): string {
  return renderFields(entries.filter(([, value]) => value !== '' && value !== 'never'))
}

/** Formats pairs as `web=1, tier=gold`; empty if there are none. */
export function formatKeyValues(
  pairs: Readonly<Record<string, string>> | null | undefined,
): string {
  return Object.entries(pairs ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`)
    .join(', ')
}

/** Joins non-empty sections with an empty line between them. */
export function joinSections(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n')
}

const STEP = 1024
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** `1.5 MiB`. */
export function formatSize(bytes: number): string {
  const unit = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1)
  const amount = bytes / STEP ** unit
  return `${unit === 0 ? amount : amount.toFixed(1)} ${UNITS[unit] ?? ''}`
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** Formats a duration with its two largest units, such as `3m12s`. */
export function formatAge(ms: number): string {
  if (ms < SECOND_MS) return `${Math.max(0, Math.round(ms))}ms`
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)}s`
  if (ms < HOUR_MS) return formatTwoUnits(ms, [MINUTE_MS, 'm'], [SECOND_MS, 's'])
  if (ms < DAY_MS) return formatTwoUnits(ms, [HOUR_MS, 'h'], [MINUTE_MS, 'm'])
  return formatTwoUnits(ms, [DAY_MS, 'd'], [HOUR_MS, 'h'])
}

type Unit = readonly [ms: number, letter: string]

function formatTwoUnits(ms: number, [bigMs, big]: Unit, [smallMs, small]: Unit): string {
  const rest = Math.floor((ms % bigMs) / smallMs)
  return `${Math.floor(ms / bigMs)}${big}${rest === 0 ? '' : `${rest}${small}`}`
}

/** Formats the age of a nanosecond timestamp; `never` for zero. */
export function agoFromNs(ns: number, nowMs: number): string {
  return ns === 0 ? 'never' : `${formatAge(nowMs - msFromNs(ns))} ago`
}

/** Formats the age of an RFC 3339 timestamp, whose zero is the year 1. */
export function agoFromIso(iso: string, nowMs: number): string {
  const ms = Date.parse(iso)
  return Number.isNaN(ms) || ms <= 0 ? 'never' : `${formatAge(nowMs - ms)} ago`
}

/** Formats an RFC 3339 time that may be in the future: `in 3m12s`, or its age. */
export function relativeFromIso(iso: string, nowMs: number): string {
  const untilMs = Date.parse(iso) - nowMs
  return untilMs > 0 ? `in ${formatAge(untilMs)}` : agoFromIso(iso, nowMs)
}

/** Formats a nanosecond timestamp as date and time, for output that must be stable. */
export function dateFromNs(ns: number): string {
  return ns === 0 ? 'never' : dateFromMs(msFromNs(ns))
}

export function dateFromMs(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
