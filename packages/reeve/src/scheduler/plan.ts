import type { Deployment, Evaluation, Job, PlanAnnotations } from '@reeve/contract'
import type { AllocationRow } from '../model/index.ts'

/**
 * Result of one evaluation, as rows to store. The committer sets the indexes (also
 * `AllocModifyIndex` of every allocation); counters of deployments are derived from the allocations
 * in the commit.
 */
export interface Plan {
  /** The processed evaluation. Still `blocked` if it was blocked and capacity is still missing. */
  readonly evaluation: Evaluation
  /** New allocations. */
  readonly placements: readonly AllocationRow[]
  /**
   * Allocations that fit but are not placed, because the job is placed all at once or not at all.
   */
  readonly withheldPlacements: readonly AllocationRow[]
  /** Allocations that are stopped, or marked as replaced or lost. */
  readonly stops: readonly AllocationRow[]
  /** Allocations that stay on their node: updated in place, marked unknown, or reconnected. */
  readonly updates: readonly AllocationRow[]
  /**
   * Failed allocations with changed reschedule data: a follow-up, or a failed reschedule attempt.
   */
  readonly attributeUpdates: readonly AllocationRow[]
  /** Preempted allocations of other jobs. */
  readonly preemptions: readonly AllocationRow[]
  /** Evaluations to process at their `WaitUntil`; those of preempted jobs immediately. */
  readonly followUpEvaluations: readonly Evaluation[]
  /** Deployment that the plan creates or updates. */
  readonly deployment: Deployment | undefined
  /** Deployments that end: cancelled or successful. */
  readonly deploymentUpdates: readonly Deployment[]
  /** Blocked evaluation that waits for capacity; undefined if everything was placed. */
  readonly blockedEvaluation: Evaluation | undefined
  readonly annotations: PlanAnnotations
  /** Version that could not be placed, by group; only where it is not the current one. */
  readonly unplacedVersions: ReadonlyMap<string, Job>
}
