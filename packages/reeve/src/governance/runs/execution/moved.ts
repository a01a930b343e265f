import type { RunPhaseRow } from '../../../model/index.ts'
import { stamped } from '../run-states.ts'

/** A phase or a plan in its next status, with the time. */
export function moved<S extends RunPhaseRow['status']>(
  { statusMs }: Pick<RunPhaseRow, 'statusMs'>,
  status: S,
  nowMs: number,
): { readonly status: S; readonly statusMs: RunPhaseRow['statusMs'] } {
  return { status, statusMs: stamped(statusMs, status, nowMs) }
}
