import type { AllocationRow, PublicNode } from '../../model/index.ts'
import { fateOf, REASONS } from './reasons.ts'

/** Why an allocation is to be placed. */
export type PlacementReason =
  /** The count is not reached. */
  | 'missing'
  /** A trial beside those that run. */
  | 'canary'
  /** In the place of one whose node is gone. */
  | 'lost'
  /** In the place of one whose node is silent, which may come back. */
  | 'stranded'
  /** In the place of one that must leave its node. */
  | 'migrate'
  /** In the place of one that failed. */
  | 'failed'
  /** In the place of one that runs an older version. */
  | 'destructive'

export interface Placement {
  readonly why: PlacementReason
  readonly index: number
  /** The one whose place it takes. */
  readonly previous?: AllocationRow | undefined
  /** No other node will do. */
  readonly nodeId?: string | undefined
  readonly canary?: boolean | undefined
  /** Runs the version before the job's own, which is not rolled out: see `RepairVersions`. */
  readonly downgrade?: boolean | undefined
}

export interface Stop {
  readonly row: AllocationRow
  readonly reason: string
  /** What became of its node: that cannot say how it ended, so the servers do. */
  readonly lost?: string | undefined
}

export function lostStop(row: AllocationRow, node: PublicNode | undefined): Stop {
  const fate = fateOf(node)
  return { row, reason: REASONS.lost(fate), lost: fate }
}
