import type { AllocationDeploymentStatus } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'

export interface HealthReport {
  /** The stored allocation. */
  readonly row: AllocationRow
  readonly clientStatus: AllocationRow['ClientStatus']
  /** Null or undefined if the node reports no health. */
  readonly status: AllocationDeploymentStatus | null | undefined
  readonly index: number
  readonly timeMs: number
}

/**
 * Returns the health of an allocation after a report: the first value is kept, except that a
 * healthy one may become unhealthy. An allocation that fails before it was healthy is unhealthy,
 * whether or not its node reports so. A node cannot change whether it is a canary.
 */
export function reportedHealth(report: HealthReport): AllocationDeploymentStatus | undefined {
  const { row, status, index, timeMs } = report
  const before = row.DeploymentStatus ?? undefined
  const [was, is] = [before?.Healthy ?? null, healthIn(report)]
  if (is === null || is === was || was === false) return before
  return {
    Healthy: is,
    Timestamp: status?.Healthy === is ? timeIn(status, timeMs) : isoFromMs(timeMs),
    Canary: before?.Canary ?? false,
    ModifyIndex: index,
  }
}

function healthIn({ row, clientStatus, status }: HealthReport): boolean | null {
  const said = status?.Healthy ?? null
  if (said !== null || (row.DeploymentID ?? '') === '') return said
  const isKnown = (row.DeploymentStatus?.Healthy ?? null) !== null
  return clientStatus === 'failed' && !isKnown ? false : null
}

/** Limits the timestamp: a node whose clock is ahead must not extend a deadline. */
function timeIn({ Timestamp: text }: AllocationDeploymentStatus, timeMs: number): string {
  const ms = Date.parse(text)
  return Number.isFinite(ms) && ms > 0 && ms <= timeMs ? isoFromMs(ms) : isoFromMs(timeMs)
}
