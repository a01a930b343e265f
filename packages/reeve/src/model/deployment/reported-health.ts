import type { AllocationDeploymentStatus } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'

export interface AllocationHealthReport {
  /** The stored allocation. */
  readonly row: AllocationRow
  readonly clientStatus: AllocationRow['ClientStatus']
  /** Null or undefined if the node reports no health. */
  readonly reportedStatus: AllocationDeploymentStatus | null | undefined
  readonly index: number
  readonly timeMs: number
}

/**
 * Returns the health of an allocation after a report: the first value is kept, except that a
 * healthy one may become unhealthy. An allocation that fails before it was healthy is unhealthy,
 * whether or not its node reports so. A node cannot change whether it is a canary.
 */
export function mergeReportedHealth(
  report: AllocationHealthReport,
): AllocationDeploymentStatus | undefined {
  const { row, reportedStatus, index, timeMs } = report
  const before = row.DeploymentStatus ?? undefined
  const [previous, next] = [before?.Healthy ?? null, healthOfReport(report)]
  if (next === null || next === previous || previous === false) return before
  return {
    Healthy: next,
    Timestamp:
      reportedStatus?.Healthy === next
        ? boundedTimestamp(reportedStatus, timeMs)
        : isoFromMs(timeMs),
    Canary: before?.Canary ?? false,
    ModifyIndex: index,
  }
}

function healthOfReport({
  row,
  clientStatus,
  reportedStatus,
}: AllocationHealthReport): boolean | null {
  const reported = reportedStatus?.Healthy ?? null
  if (reported !== null || (row.DeploymentID ?? '') === '') return reported
  const hasHealth = (row.DeploymentStatus?.Healthy ?? null) !== null
  return clientStatus === 'failed' && !hasHealth ? false : null
}

/** Limits the timestamp: a node whose clock is ahead must not extend a deadline. */
function boundedTimestamp(
  { Timestamp: timestamp }: AllocationDeploymentStatus,
  timeMs: number,
): string {
  const ms = Date.parse(timestamp)
  return Number.isFinite(ms) && ms > 0 && ms <= timeMs ? isoFromMs(ms) : isoFromMs(timeMs)
}
