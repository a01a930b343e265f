import { err, ok, type Result } from '@reeve/kit/result.ts'

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Parses a time of a query into milliseconds; undefined if it is missing. */
export function parseRfc3339(text: string | undefined): Result<number | undefined, string> {
  if (text === undefined || text === '') return ok(undefined)
  const ms = RFC3339.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(ms) ? err('not a time such as 2026-11-15T09:30:00Z') : ok(ms)
}
