import type { ServiceList } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Tables } from '../../state/index.ts'

/** Rows that are read before others get their turn. */
const ROWS_PER_SLICE = 1_000

/** Names by namespace, each with the tags of all its instances. */
export async function serviceNames(
  { service_registrations: table }: Tables,
  {
    namespaces,
    nextTurn,
  }: { readonly namespaces: readonly string[]; readonly nextTurn: () => Promise<void> },
): Promise<readonly ServiceList[]> {
  const lists: ServiceList[] = []
  let read = 0
  for (const namespace of namespaces) {
    const tagsOf = new Map<string, Set<string>>()
    // The keys of this moment: rows may come and go between two slices.
    for (const key of table.keysIn('namespace', namespace)) {
      const row = table.find(key)
      if (row === undefined) continue
      const tags = tagsOf.get(row.ServiceName) ?? new Set<string>()
      tagsOf.set(row.ServiceName, tags)
      for (const tag of row.Tags ?? []) tags.add(tag)
      if (++read % ROWS_PER_SLICE === 0) await nextTurn()
    }
    if (tagsOf.size > 0) lists.push({ Namespace: namespace, Services: sorted(tagsOf) })
  }
  return lists
}

function sorted(tagsOf: ReadonlyMap<string, ReadonlySet<string>>): ServiceList['Services'] {
  return [...tagsOf]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([ServiceName, tags]) => ({ ServiceName, Tags: [...tags].toSorted(compareText) }))
}
