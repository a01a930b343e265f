import type { TagBindingRow } from '../../model/index.ts'
import { tagKey, type Tables } from '../../state/index.ts'
import { intersect } from '../intersect.ts'

/** One `filter[tagged][i]`; an empty value matches any value. */
export interface TagFilter {
  readonly key: string
  readonly value: string
}

/** Returns the owners of a type that have all these tags themselves; undefined without filters. */
export function ownerIdsWithTags(
  tables: Tables,
  owner: Pick<TagBindingRow, 'organizationId' | 'ownerType'>,
  filters: readonly TagFilter[],
): ReadonlySet<string> | undefined {
  let matching: ReadonlySet<string> | undefined
  for (const { key, value } of filters) {
    const { tag_bindings: bindings } = tables
    const keys =
      value === ''
        ? bindings.keysByIndex('tag', tagKey(owner, key))
        : bindings.keysByIndex('pair', tagKey(owner, key, value))
    // The key begins with the ID of the owner and `!`, which IDs do not contain.
    const owners = new Set([...keys].map((one) => one.slice(0, one.indexOf('!'))))
    matching = intersect([matching, owners])
  }
  return matching
}
