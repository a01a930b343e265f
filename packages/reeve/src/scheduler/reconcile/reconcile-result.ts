import type { AllocationRow, PublicNode } from '../../model/index.ts'
import { nodeCondition, STOP_DESCRIPTIONS } from './allocation-state.ts'

/** Cause of a placement. */
export type PlacementCause =
  /** The count is not reached. */
  | 'missing'
  /** A canary. */
  | 'canary'
  /** Replaces a lost allocation. */
  | 'lost'
  /** Replaces an allocation on a disconnected node, which may reconnect. */
  | 'stranded'
  /** Replaces an allocation that migrates. */
  | 'migrate'
  /** Replaces a failed allocation. */
  | 'failed'
  /** Replaces an allocation of an older version. */
  | 'destructive'

export interface Placement {
  readonly cause: PlacementCause
  readonly index: number
  /** The replaced allocation. */
  readonly previous?: AllocationRow | undefined
  /** The only node that is allowed. */
  readonly nodeId?: string | undefined
  readonly canary?: boolean | undefined
  /**
   * Runs the last deployed version, because the current one is not deployed yet: see
   * `RepairVersions`.
   */
  readonly downgrade?: boolean | undefined
}

export interface Stop {
  readonly row: AllocationRow
  readonly reason: string
  /** Condition of the unreachable node; the servers then mark the allocation as lost. */
  readonly nodeCondition?: string | undefined
}

export function stopAsLost(row: AllocationRow, node: PublicNode | undefined): Stop {
  const condition = nodeCondition(node)
  return { row, reason: STOP_DESCRIPTIONS.lost(condition), nodeCondition: condition }
}
