import type { ServiceList } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Tables } from '../../state/index.ts'

/** Number of rows read before yielding to the event loop. */
const ROWS_PER_SLICE = 1_000

/**
 * Lists service names by namespace, with the tags of all instances and the number of failing ones.
 */
export async function listServiceNames(
  { service_registrations: table }: Tables,
  {
    namespaces,
    yieldToEventLoop,
  }: { readonly namespaces: readonly string[]; readonly yieldToEventLoop: () => Promise<void> },
): Promise<readonly ServiceList[]> {
  const lists: ServiceList[] = []
  let rowsRead = 0
  for (const namespace of namespaces) {
    const services = new Map<string, ServiceCounts>()
    // Take the keys now: rows may be added and deleted between two slices.
    for (const key of table.keysByIndex('namespace', namespace)) {
      const row = table.find(key)
      if (row === undefined) continue
      const service = services.get(row.ServiceName) ?? { tags: new Set(), instances: 0, failing: 0 }
      services.set(row.ServiceName, service)
      service.instances += 1
      if ((row.Checks?.Failing ?? 0) > 0) service.failing += 1
      for (const tag of row.Tags ?? []) service.tags.add(tag)
      if (++rowsRead % ROWS_PER_SLICE === 0) await yieldToEventLoop()
    }
    if (services.size > 0) lists.push({ Namespace: namespace, Services: toServiceList(services) })
  }
  return lists
}

interface ServiceCounts {
  readonly tags: Set<string>
  instances: number
  failing: number
}

function toServiceList(services: ReadonlyMap<string, ServiceCounts>): ServiceList['Services'] {
  return [...services]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([ServiceName, { tags, instances, failing }]) => ({
      ServiceName,
      Tags: [...tags].toSorted(compareText),
      Instances: instances,
      Failing: failing,
    }))
}
