import type { TagFilter } from '../../governance/index.ts'

/**
 * `filter[tagged][i][key]` and `[value]` of a query. A value without a key says nothing; an empty
 * value stands for any (reference §2.3).
 */
export function tagFilters(query: object): readonly TagFilter[] {
  return POSITIONS.flatMap((i) => {
    const key: unknown = Reflect.get(query, `filter[tagged][${i}][key]`)
    const value: unknown = Reflect.get(query, `filter[tagged][${i}][value]`)
    if (typeof key !== 'string' || key === '') return []
    return [{ key, value: typeof value === 'string' ? value : '' }]
  })
}

/** As many as the contract's `taggedQuery` has. */
const POSITIONS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
