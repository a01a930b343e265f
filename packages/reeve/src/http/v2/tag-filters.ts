import type { TagFilter } from '../../governance/index.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { invalidParameter } from './query.ts'

/**
 * Parses `filter[tagged][i][key]` and `[value]`. An empty value matches any value; a value without
 * a key is rejected.
 */
export function parseTagFilters(query: object): Result<readonly TagFilter[], GovernanceRefusal> {
  const filters: TagFilter[] = []
  for (const i of FILTER_POSITIONS) {
    const name = `filter[tagged][${i}][key]`
    const key: unknown = Reflect.get(query, name)
    const value: unknown = Reflect.get(query, `filter[tagged][${i}][value]`)
    if (key === undefined && value === undefined) continue
    if (typeof key !== 'string' || key === '')
      return invalidParameter(name, `${name} must be given`)
    filters.push({ key, value: typeof value === 'string' ? value : '' })
  }
  return ok(filters)
}

/** Positions in the contract's `taggedQuery`. */
const FILTER_POSITIONS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
