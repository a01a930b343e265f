import {
  SERVICE_OUTPUT_CHARS_MAX,
  type AllocationServices,
  type ReportedService,
  type ServiceChecks,
  type ServiceRegistration,
} from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isClientTerminal, isEqual, LIMITS, type AllocationRow } from '../../model/index.ts'
import { namespacedKey, put, remove, type Change, type Tables } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

/** Service report of one node. */
export interface ServiceReport {
  readonly nodeId: string
  readonly sets: readonly AllocationServices[]
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
