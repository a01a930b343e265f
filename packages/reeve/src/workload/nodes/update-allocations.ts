import type { AllocationUpdate } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { isEqual, reportedHealth, storeTaskStates, type AllocationRow } from '../../model/index.ts'
import { put, withJobRows, type Stamp, type Tables } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { isOrphaned, reportEvaluations, type ReportedChange } from './report-evaluations.ts'

/** What one node says of its allocations. */
export interface NodeReport {
  readonly nodeId: string
  readonly updates: readonly AllocationUpdate[]
}

/**
 * Nodes report how their allocations stand. Only its own count; what one says of others is ignored.
 * Resolves when the reports are durable, so that the nodes may forget them.
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
      // Of two words on one allocation the later one counts: each row is written once.
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
  /** The node is held back until it has said how this one is: its word counts as it is. */
  readonly isAwaited: boolean
}

function reportedChanges(tables: Tables, { nodeId, updates }: NodeReport, stamp: Stamp): Word[] {
  // It says hello first, and then how everything is.
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

/** What a report may change, beside when it did. */
const REPORTED = [
  'ClientStatus',
  'ClientDescription',
  'TaskStates',
  'NetworkStatus',
  'DeploymentStatus',
  'DesiredStatus',
] as const satisfies readonly (keyof AllocationRow)[]

/** A node that comes back tells of everything: what is known already is written by nobody. */
function isNews({ before, row }: ReportedChange): boolean {
  return REPORTED.some((name) => !isEqual(before[name] ?? null, row[name] ?? null))
}

/** Nobody will ask for it again. */
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

/** The allocation may have joined another deployment while the report was on its way. */
function isMeantFor(row: AllocationRow, { DeploymentID }: AllocationUpdate): boolean {
  return DeploymentID === undefined || DeploymentID === (row.DeploymentID ?? '')
}
