import { parseDurationNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { clip } from './shown.ts'

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,18})?(?:[Zz]|[+-]\d{2}:\d{2})$/

/** Parses the `ExpirationTime` of a token request; undefined if the request sets none. */
export function parseExpirationTime(
  text: string | null | undefined,
): Result<number | undefined, string> {
  if (text === undefined || text === null || text === '' || text === ZERO_TIME) return ok(undefined)
  const ms = RFC_3339.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms)
    ? err(`parsing time "${clip(text)}": expiration times are written as RFC 3339`)
    : ok(ms)
}

/** Parses the `ExpirationTTL` of a token request: a duration such as `8h`, or nanoseconds. */
export function parseExpirationTtl(
  input: string | number | null | undefined,
): Result<number | undefined, string> {
  if (input === undefined || input === null || input === '') return ok(undefined)
  const ns = typeof input === 'number' ? input : parseDurationNs(input)
  if (ns === undefined) return err(`time: invalid duration "${clip(String(input))}"`)
  return ok(ns === 0 ? undefined : ns)
}
