import type { AllocationUpdate } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  isEqual,
  mergeReportedHealth,
  compactTaskStates,
  type AllocationRow,
} from '../../model/index.ts'
import { put, withDerivedRows, type Stamp, type Tables } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { isOrphaned, evaluationsForReports, type ReportedChange } from './report-evaluations.ts'

/** Allocation updates of one node. */
export interface NodeReport {
  readonly nodeId: string
  readonly updates: readonly AllocationUpdate[]
}

/**
 * Stores the allocation updates of nodes. Updates for allocations of another node are ignored.
 * Resolves when they are durable, so that the nodes may drop them.
 */
export async function updateAllocations(
  context: WorkloadContext,
  reports: readonly NodeReport[],
): Promise<void> {
  const { tables } = context.store
  const { durable } = context.store.commit({
    by: 'system',
    cause: 'AllocationUpdated',
    changes: (stamp) => {
      const changed = reports.flatMap((report) => applyReport(tables, report, stamp))
      // The later of two updates of one allocation counts: each row is written once.
      const latestByAllocation = new Map(changed.map((change) => [change.row.ID, change]))
      const latest = [...latestByAllocation.values()].filter(
        (update) => update.isInitialReport || hasChanged(update),
      )
      const allocations = latest.map(({ row }) => put('allocations', row))
      const evaluations = evaluationsForReports(context, latest.filter(hasChanged), stamp)
      return withDerivedRows(tables, [...allocations, ...evaluations])
    },
  })
  await durable
}

interface ReportedUpdate extends ReportedChange {
  /**
   * The node stays `initializing` until it has reported this allocation, so the update counts even
   * if it changes nothing.
   */
  readonly isInitialReport: boolean
}

function applyReport(
  tables: Tables,
  { nodeId, updates }: NodeReport,
  stamp: Stamp,
): ReportedUpdate[] {
  // A node sends hello first, and then the status of all allocations.
  const status = tables.nodes.find(nodeId)?.Status
  if (status === 'down' || status === 'disconnected') return []
  return updates.flatMap((update) => {
    const before = tables.allocations.find(update.ID)
    if (before === undefined || before.NodeID !== nodeId) return []
    const row = applyUpdate(before, update, stamp)
    const isAwaited = status === 'initializing' && isLive(tables, update.ID)
    return {
      before,
      row: isOrphaned(tables, row) ? stopOrphan(row, stamp) : row,
      isInitialReport: isAwaited,
    }
  })
}

function isLive({ allocations }: Tables, id: string): boolean {
  return allocations.indexKeyOf('live', id) !== undefined
}

/** Fields that a report may change, besides the modify time. */
const REPORTED_FIELDS = [
  'ClientStatus',
  'ClientDescription',
  'TaskStates',
  'NetworkStatus',
  'DeploymentStatus',
  'DesiredStatus',
] as const satisfies readonly (keyof AllocationRow)[]

/** Reports whether an update changes the row. A reconnecting node reports everything again. */
function hasChanged({ before, row }: ReportedChange): boolean {
  return REPORTED_FIELDS.some((name) => !isEqual(before[name] ?? null, row[name] ?? null))
}

/** Stops an allocation without a job, which no evaluation would do. */
function stopOrphan(row: AllocationRow, { index }: Stamp): AllocationRow {
  return {
    ...row,
    DesiredStatus: 'stop',
    DesiredDescription: 'its job is gone',
    AllocModifyIndex: index,
  }
}

function applyUpdate(row: AllocationRow, update: AllocationUpdate, stamp: Stamp): AllocationRow {
  return {
    ...row,
    ClientStatus: update.ClientStatus,
    ClientDescription: update.ClientDescription,
    TaskStates: compactTaskStates(update.TaskStates),
    ...(update.NetworkStatus === undefined ? {} : { NetworkStatus: update.NetworkStatus }),
    DeploymentStatus: mergeReportedHealth({
      row,
      clientStatus: update.ClientStatus,
      reportedStatus: isForSameDeployment(row, update) ? update.DeploymentStatus : undefined,
      ...stamp,
    }),
    ModifyTime: nsFromMs(stamp.timeMs),
    ModifyIndex: stamp.index,
  }
}

/**
 * Reports whether the deployment status applies: the allocation may have joined another deployment
 * meanwhile.
 */
function isForSameDeployment(row: AllocationRow, { DeploymentID }: AllocationUpdate): boolean {
  return DeploymentID === undefined || DeploymentID === (row.DeploymentID ?? '')
}
