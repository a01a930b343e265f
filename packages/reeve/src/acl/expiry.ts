import { parseDurationNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { clipped } from './shown.ts'

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,18})?(?:[Zz]|[+-]\d{2}:\d{2})$/

/** A token's `ExpirationTime` as a request gives it; undefined when it sets none. */
export function readExpirationTime(
  text: string | null | undefined,
): Result<number | undefined, string> {
  if (text === undefined || text === null || text === '' || text === ZERO_TIME) return ok(undefined)
  const ms = RFC_3339.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms)
    ? err(`parsing time "${clipped(text)}": expiration times are written as RFC 3339`)
    : ok(ms)
}

/** A token's `ExpirationTTL` in nanoseconds: a text such as `8h`, or the number. */
export function readExpirationTtl(
  given: string | number | null | undefined,
): Result<number | undefined, string> {
  if (given === undefined || given === null || given === '') return ok(undefined)
  const ns = typeof given === 'number' ? given : parseDurationNs(given)
  if (ns === undefined) return err(`time: invalid duration "${clipped(String(given))}"`)
  return ok(ns === 0 ? undefined : ns)
}
