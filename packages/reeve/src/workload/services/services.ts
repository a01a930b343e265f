import { createHash } from 'node:crypto'
import {
  SERVICE_OUTPUT_CHARS_MAX,
  type AllocationServiceSet,
  type ReportedService,
  type ServiceChecks,
  type ServiceRegistration,
  type ServiceList,
} from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  isClientTerminal,
  isEqual,
  LIMITS,
  type AllocationRow,
  refusal,
  type Refusal,
} from '../../model/index.ts'
import {
  namespacedKey,
  put,
  remove,
  type Change,
  type Tables,
  type Author,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

/** Service report of one node. */
interface ServiceReport {
  readonly nodeId: string
  readonly sets: readonly AllocationServiceSet[]
  /** All allocations with services; undefined if the report is partial. */
  readonly all: readonly string[] | undefined
}

/**
 * Replaces the service registrations of a node's live allocations. Idempotent. Resolves when the
 * change is durable.
 */
export async function reportServices(
  { store }: WorkloadContext,
  report: ServiceReport,
): Promise<void> {
  const { durable } = store.commit({
    by: 'system',
    cause: 'ServiceRegistration',
    changes: () => {
      // The later of two sets of one allocation counts.
      const sets = new Map(report.sets.map((set) => [set.allocation, set.services]))
      return [
        ...[...sets].flatMap(([id, offered]) =>
          allocationServiceChanges(store.tables, report.nodeId, { id, offered }),
        ),
        ...staleRegistrations(store.tables, report, sets),
      ]
    },
  })
  await durable
}

interface AllocationOffer {
  readonly id: string
  readonly offered: readonly ReportedService[]
}

function allocationServiceChanges(
  tables: Tables,
  nodeId: string,
  { id, offered }: AllocationOffer,
): Change[] {
  const allocation = tables.allocations.find(id)
  if (allocation === undefined || allocation.NodeID !== nodeId) return []
  const table = tables.service_registrations
  const offeredByKey = isClientTerminal(allocation)
    ? new Map()
    : offeredRows(tables, allocation, offered)
  const removedKeys = [...table.keysByIndex('allocation', id)].filter(
    (key) => !offeredByKey.has(key),
  )
  return [
    ...[...offeredByKey].flatMap(([key, row]) =>
      isUnchanged(table.find(key), row) ? [] : [put('service_registrations', row)],
    ),
    ...removedKeys.toSorted(compareText).map((key) => remove('service_registrations', key)),
  ]
}

function offeredRows(
  tables: Tables,
  allocation: AllocationRow,
  offered: readonly ReportedService[],
): ReadonlyMap<string, ServiceRegistration> {
  const rows = new Map<string, ServiceRegistration>()
  for (const one of offered.slice(0, LIMITS.servicesPerAllocationMax)) {
    // The ID contains the allocation, so that no node can replace a registration of another one.
    if (!one.ID.includes(allocation.ID)) continue
    const row = toRegistration(tables, allocation, one)
    rows.set(namespacedKey(row.Namespace, row.ID), row)
  }
  return rows
}

function toRegistration(
  { nodes }: Tables,
  { ID: AllocID, Namespace, NodeID, JobID }: AllocationRow,
  { ID, ServiceName, Tags, Address, Port, Checks }: ReportedService,
): ServiceRegistration {
  const Datacenter = nodes.find(NodeID)?.Datacenter ?? ''
  const owner = { Namespace, NodeID, Datacenter, JobID, AllocID }
  const checked = Checks === undefined ? {} : { Checks: truncateChecks(Checks) }
  const offered = { ID, ServiceName, ...owner, Tags, Address, Port, ...checked }
  return { ...offered, CreateIndex: 0, ModifyIndex: 0 }
}

/** Truncates the check output, because nodes are not trusted. */
function truncateChecks(checks: ServiceChecks): ServiceChecks {
  return { ...checks, Output: checks.Output.slice(0, SERVICE_OUTPUT_CHARS_MAX) }
}

function isUnchanged(before: ServiceRegistration | undefined, after: ServiceRegistration): boolean {
  if (before === undefined) return false
  const { CreateIndex, ModifyIndex } = before
  return isEqual(before, { ...after, CreateIndex, ModifyIndex })
}

/** Returns the deletion of registrations that a full report no longer contains. */
function staleRegistrations(
  tables: Tables,
  { nodeId, all }: ServiceReport,
  sets: ReadonlyMap<string, unknown>,
): Change[] {
  if (all === undefined) return []
  const named = new Set(all)
  const table = tables.service_registrations
  return [...table.keysByIndex('node', nodeId)]
    .filter((key) => {
      const id = table.indexKeyOf('allocation', key) ?? ''
      return !named.has(id) && !sets.has(id)
    })
    .toSorted(compareText)
    .map((key) => remove('service_registrations', key))
}

interface ServiceTarget {
  readonly namespace: string
  readonly name: string
  readonly id: string
}

/**
 * Deletes one service registration. Its allocation keeps running, and the agent registers it again
 * with its next full report.
 */
export async function deleteService(
  { store }: WorkloadContext,
  { by }: Author,
  { namespace, name, id }: ServiceTarget,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const key = namespacedKey(namespace, id)
  if (store.tables.service_registrations.find(key)?.ServiceName !== name)
    return err(refusal('service-not-found', 'service registration not found'))
  const { index, durable } = store.commit({
    by,
    cause: 'ServiceDeregistration',
    changes: () => [remove('service_registrations', key)],
  })
  await durable
  return ok({ index })
}

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

const INVALID_CHOOSE: Refusal = refusal(
  'invalid-input',
  "Parameter for choose must be in form '<number>|<key>'",
)

/**
 * Parses `<n>|<key>`: selects n instances, the same ones for a key while they exist. Uses
 * rendezvous hashing: adding or removing an instance moves only the keys assigned to it.
 */
export function rendezvousSelect(
  text: string,
): Result<
  (registrations: readonly ServiceRegistration[]) => readonly ServiceRegistration[],
  Refusal
> {
  const [number = '', key = '', ...rest] = text.split('|')
  const count = Number(number)
  const isCount = /^\d+$/.test(number) && Number.isSafeInteger(count) && count > 0
  if (!isCount || key === '' || rest.length > 0) return err(INVALID_CHOOSE)
  return ok((registrations) =>
    registrations
      .map((registration) => ({ one: registration, weight: rendezvousWeight(key, registration) }))
      .toSorted((a, b) => compareText(b.weight, a.weight) || compareText(a.one.ID, b.one.ID))
      .slice(0, count)
      .map(({ one: registration }) => registration),
  )
}

function rendezvousWeight(key: string, { ID }: ServiceRegistration): string {
  return createHash('sha256').update(`${key}\0${ID}`).digest('hex')
}
