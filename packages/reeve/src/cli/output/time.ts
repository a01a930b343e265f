import { msFromNs } from '@reeve/kit/duration.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** `3m12s`: the two largest units, which is what people compare. */
export function formatAge(ms: number): string {
  if (ms < SECOND_MS) return `${Math.max(0, Math.round(ms))}ms`
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)}s`
  if (ms < HOUR_MS) return pair(ms, [MINUTE_MS, 'm'], [SECOND_MS, 's'])
  if (ms < DAY_MS) return pair(ms, [HOUR_MS, 'h'], [MINUTE_MS, 'm'])
  return pair(ms, [DAY_MS, 'd'], [HOUR_MS, 'h'])
}

type Unit = readonly [ms: number, letter: string]

function pair(ms: number, [bigMs, big]: Unit, [smallMs, small]: Unit): string {
  const rest = Math.floor((ms % bigMs) / smallMs)
  return `${Math.floor(ms / bigMs)}${big}${rest === 0 ? '' : `${rest}${small}`}`
}

/** How long ago a nanosecond field of the API was; `never` for zero. */
export function agoFromNs(ns: number, nowMs: number): string {
  return ns === 0 ? 'never' : `${formatAge(nowMs - msFromNs(ns))} ago`
}

/** The same for RFC 3339 fields, whose zero is the year 1. */
export function agoFromIso(iso: string, nowMs: number): string {
  const ms = Date.parse(iso)
  return Number.isNaN(ms) || ms <= 0 ? 'never' : `${formatAge(nowMs - ms)} ago`
}

/** A nanosecond field as a date and time, for columns that must not change from call to call. */
export function dateFromNs(ns: number): string {
  return ns === 0 ? 'never' : dateFromMs(msFromNs(ns))
}

export function dateFromMs(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
