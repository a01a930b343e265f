import type { RunPhaseRow } from '../../../model/index.ts'
import { withStatusTime } from '../run-states.ts'

/** Returns a status with its timestamp, for a phase or a plan. */
export function withStatus<S extends RunPhaseRow['status']>(
  { statusMs }: Pick<RunPhaseRow, 'statusMs'>,
  status: S,
  nowMs: number,
): { readonly status: S; readonly statusMs: RunPhaseRow['statusMs'] } {
  return { status, statusMs: withStatusTime(statusMs, status, nowMs) }
}
