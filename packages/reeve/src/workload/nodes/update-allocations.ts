import type { AllocationUpdate } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { isEqual, reportedHealth, storeTaskStates, type AllocationRow } from '../../model/index.ts'
import { put, withJobRows, type Stamp, type Tables } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { isOrphaned, reportEvaluations, type ReportedChange } from './report-evaluations.ts'

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
      const changed = reports.flatMap((report) => reportedChanges(tables, report, stamp))
      // The later of two updates of one allocation counts: each row is written once.
      const words = new Map(changed.map((change) => [change.row.ID, change]))
      const latest = [...words.values()].filter((word) => word.isAwaited || isNews(word))
      const allocations = latest.map(({ row }) => put('allocations', row))
      const evaluations = reportEvaluations(context, latest.filter(isNews), stamp)
      return withJobRows(tables, [...allocations, ...evaluations])
    },
  })
  await durable
}

interface Word extends ReportedChange {
  /**
   * The node stays `initializing` until it has reported this allocation, so the update counts even
   * if it changes nothing.
   */
  readonly isAwaited: boolean
}

function reportedChanges(tables: Tables, { nodeId, updates }: NodeReport, stamp: Stamp): Word[] {
  // A node sends hello first, and then the status of all allocations.
  const status = tables.nodes.find(nodeId)?.Status
  if (status === 'down' || status === 'disconnected') return []
  return updates.flatMap((update) => {
    const before = tables.allocations.find(update.ID)
    if (before === undefined || before.NodeID !== nodeId) return []
    const row = reported(before, update, stamp)
    const isAwaited = status === 'initializing' && isLive(tables, update.ID)
    return { before, row: isOrphaned(tables, row) ? stoppedOrphan(row, stamp) : row, isAwaited }
  })
}

function isLive({ allocations }: Tables, id: string): boolean {
  return allocations.groupOf('live', id) !== undefined
}

/** Fields that a report may change, besides the modify time. */
const REPORTED = [
  'ClientStatus',
  'ClientDescription',
  'TaskStates',
  'NetworkStatus',
  'DeploymentStatus',
  'DesiredStatus',
] as const satisfies readonly (keyof AllocationRow)[]

/** Reports whether an update changes the row. A reconnecting node reports everything again. */
function isNews({ before, row }: ReportedChange): boolean {
  return REPORTED.some((name) => !isEqual(before[name] ?? null, row[name] ?? null))
}

/** Stops an allocation without a job, which no evaluation would do. */
function stoppedOrphan(row: AllocationRow, { index }: Stamp): AllocationRow {
  return {
    ...row,
    DesiredStatus: 'stop',
    DesiredDescription: 'its job is gone',
    AllocModifyIndex: index,
  }
}

function reported(row: AllocationRow, update: AllocationUpdate, stamp: Stamp): AllocationRow {
  return {
    ...row,
    ClientStatus: update.ClientStatus,
    ClientDescription: update.ClientDescription,
    TaskStates: storeTaskStates(update.TaskStates),
    ...(update.NetworkStatus === undefined ? {} : { NetworkStatus: update.NetworkStatus }),
    DeploymentStatus: reportedHealth({
      row,
      clientStatus: update.ClientStatus,
      status: isMeantFor(row, update) ? update.DeploymentStatus : undefined,
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
function isMeantFor(row: AllocationRow, { DeploymentID }: AllocationUpdate): boolean {
  return DeploymentID === undefined || DeploymentID === (row.DeploymentID ?? '')
}
