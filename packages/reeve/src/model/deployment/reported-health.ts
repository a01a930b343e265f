import type { AllocationDeploymentStatus } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'

export interface HealthReport {
  /** The allocation as it was, and how its node says that it stands. */
  readonly row: AllocationRow
  readonly clientStatus: AllocationRow['ClientStatus']
  /** Null or undefined: the node says nothing about its health. */
  readonly status: AllocationDeploymentStatus | null | undefined
  readonly index: number
  readonly timeMs: number
}

/**
 * The health of an allocation after its node reported: the first word stays, except that a healthy
 * one may turn unhealthy. One that fails before it was ever healthy is unhealthy, whether or not
 * its node says so. Whether it is a canary is not the node's to say.
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

/** A node whose clock is ahead must not push a deadline into the future. */
function timeIn({ Timestamp: text }: AllocationDeploymentStatus, timeMs: number): string {
  const ms = Date.parse(text)
  return Number.isFinite(ms) && ms > 0 && ms <= timeMs ? isoFromMs(ms) : isoFromMs(timeMs)
}
