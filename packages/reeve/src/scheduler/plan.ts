import type { Evaluation, PlanAnnotations } from '@reeve/contract'
import type { AllocationRow } from '../model/index.ts'

/**
 * What one evaluation decided, as the rows that should be stored. Whoever commits it writes the
 * indexes (`AllocModifyIndex` of every allocation among them); all else is in the rows.
 */
export interface Plan {
  /** The evaluation, carried out. Still `blocked` when it was blocked and room is still missing. */
  readonly evaluation: Evaluation
  /** New allocations. */
  readonly placements: readonly AllocationRow[]
  /** Allocations that should end, or that are marked as replaced or lost. */
  readonly stops: readonly AllocationRow[]
  /** Allocations that go on where they are with the new version of their job. */
  readonly updates: readonly AllocationRow[]
  /** Failed allocations whose bookkeeping changed: they wait for a follow-up, or found no place. */
  readonly notes: readonly AllocationRow[]
  /** Evaluations to carry out later, each at its `WaitUntil`. */
  readonly followUps: readonly Evaluation[]
  /** Waits for room on behalf of the evaluation; undefined when everything was placed. */
  readonly blocked: Evaluation | undefined
  readonly annotations: PlanAnnotations
}
