import type { TagFilter } from '../../governance/index.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { refuse } from './query.ts'

/**
 * `filter[tagged][i][key]` and `[value]` of a query. An empty value stands for any. Without a key a
 * value asks for nothing that could be found.
 */
export function tagFilters(query: object): Result<readonly TagFilter[], GovernanceRefusal> {
  const filters: TagFilter[] = []
  for (const i of POSITIONS) {
    const name = `filter[tagged][${i}][key]`
    const key: unknown = Reflect.get(query, name)
    const value: unknown = Reflect.get(query, `filter[tagged][${i}][value]`)
    if (key === undefined && value === undefined) continue
    if (typeof key !== 'string' || key === '') return refuse(name, `${name} must be given`)
    filters.push({ key, value: typeof value === 'string' ? value : '' })
  }
  return ok(filters)
}

/** As many as the contract's `taggedQuery` has. */
const POSITIONS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
