import type { ServiceList } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Tables } from '../../state/index.ts'

/** Rows that are read before others get their turn. */
const ROWS_PER_SLICE = 1_000

/** Names by namespace, each with the tags of all its instances and how many of them fail. */
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
    const known = new Map<string, KnownService>()
    // The keys of this moment: rows may come and go between two slices.
    for (const key of table.keysIn('namespace', namespace)) {
      const row = table.find(key)
      if (row === undefined) continue
      const service = known.get(row.ServiceName) ?? { tags: new Set(), instances: 0, failing: 0 }
      known.set(row.ServiceName, service)
      service.instances += 1
      if ((row.Checks?.Failing ?? 0) > 0) service.failing += 1
      for (const tag of row.Tags ?? []) service.tags.add(tag)
      if (++read % ROWS_PER_SLICE === 0) await nextTurn()
    }
    if (known.size > 0) lists.push({ Namespace: namespace, Services: sorted(known) })
  }
  return lists
}

interface KnownService {
  readonly tags: Set<string>
  instances: number
  failing: number
}

function sorted(known: ReadonlyMap<string, KnownService>): ServiceList['Services'] {
  return [...known]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([ServiceName, { tags, instances, failing }]) => ({
      ServiceName,
      Tags: [...tags].toSorted(compareText),
      Instances: instances,
      Failing: failing,
    }))
}
