import { msFromNs } from '@reeve/kit/duration.ts'

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

/** Formats a nanosecond timestamp as date and time, for output that must be stable. */
export function dateFromNs(ns: number): string {
  return ns === 0 ? 'never' : dateFromMs(msFromNs(ns))
}

export function dateFromMs(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
