import type { Deployment, Evaluation, Job, PlanAnnotations } from '@reeve/contract'
import type { AllocationRow } from '../model/index.ts'

/**
 * What one evaluation decided, as the rows that should be stored. Whoever commits it writes the
 * indexes (`AllocModifyIndex` of every allocation among them); all else is in the rows, except that
 * the counters of deployments follow from the allocations in the commit.
 */
export interface Plan {
  /** The evaluation, carried out. Still `blocked` when it was blocked and room is still missing. */
  readonly evaluation: Evaluation
  /** New allocations. */
  readonly placements: readonly AllocationRow[]
  /** What found room and is not placed, because all of the job is placed at once or nothing. */
  readonly withheld: readonly AllocationRow[]
  /** Allocations that should end, or that are marked as replaced or lost. */
  readonly stops: readonly AllocationRow[]
  /**
   * Allocations that go on where they are: with the new version of their job, or as unknown, or no
   * longer as such.
   */
  readonly updates: readonly AllocationRow[]
  /** Failed allocations whose bookkeeping changed: they wait for a follow-up, or found no place. */
  readonly notes: readonly AllocationRow[]
  /** Allocations of other jobs that give up their room. */
  readonly victims: readonly AllocationRow[]
  /** Evaluations to carry out later, each at its `WaitUntil`; those of displaced jobs at once. */
  readonly followUps: readonly Evaluation[]
  /** The deployment that the plan makes or changes. */
  readonly deployment: Deployment | undefined
  /** Deployments that come to their end: cancelled or successful. */
  readonly deploymentUpdates: readonly Deployment[]
  /** Waits for room on behalf of the evaluation; undefined when everything was placed. */
  readonly blocked: Evaluation | undefined
  readonly annotations: PlanAnnotations
  /** By group: the version that found no node, where it is not the job's own. */
  readonly unplacedVersions: ReadonlyMap<string, Job>
}
