import type { TagBindingRow } from '../../model/index.ts'
import { tagKey, type Tables } from '../../state/index.ts'
import { intersect } from '../intersect.ts'

/** One `filter[tagged][i]`; without a value any value will do. */
export interface TagFilter {
  readonly key: string
  readonly value: string
}

/** The owners of a type that have all these tags themselves; undefined without filters. */
export function findTagged(
  tables: Tables,
  of: Pick<TagBindingRow, 'organizationId' | 'ownerType'>,
  filters: readonly TagFilter[],
): ReadonlySet<string> | undefined {
  let left: ReadonlySet<string> | undefined
  for (const { key, value } of filters) {
    const { tag_bindings: bindings } = tables
    const keys =
      value === ''
        ? bindings.keysIn('tag', tagKey(of, key))
        : bindings.keysIn('pair', tagKey(of, key, value))
    // The owner stands before the `!`, which is in no id.
    const owners = new Set([...keys].map((one) => one.slice(0, one.indexOf('!'))))
    left = intersect([left, owners])
  }
  return left
}
