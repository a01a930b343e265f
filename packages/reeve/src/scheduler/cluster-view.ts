import type {
  Deployment,
  Evaluation,
  HostVolumeRecord,
  Job,
  PreemptionConfig,
  SchedulerAlgorithm,
} from '@reeve/contract'
import type { IdSource, Random } from '@reeve/kit/clock.ts'
import {
  type AllocationRow,
  isSystemType,
  type NodeUsage,
  type PublicNode,
  type UsageColumns,
} from '../model/index.ts'

/** Read access of the scheduler to the state. Tests implement it with arrays. */
export interface ClusterView {
  /** Index of the state that the plan is computed from. */
  readonly index: number
  /** Current version of the job; undefined if it was purged. */
  findJob(namespace: string, id: string): Job | undefined
  /** Job version of an allocation; undefined if it is no longer stored. */
  jobVersionOf(allocation: AllocationRow): Job | undefined
  /** Stored versions of the job, oldest first. */
  versionsOf(namespace: string, jobId: string): readonly Job[]
  /** Undefined if it is no longer stored. */
  findDeployment(id: string): Deployment | undefined
  /** Deployments with the ID of the job, oldest first, including earlier registrations. */
  deploymentsOf(namespace: string, jobId: string): readonly Deployment[]
  /** The newest deployment of the job. */
  latestDeployment(namespace: string, jobId: string): Deployment | undefined
  /** True if an evaluation with a future `WaitUntil` is still pending. */
  isPendingEvaluation(evaluationId: string): boolean
  /** IDs of the evaluations of the job that are due at this time. */
  evaluationsDueAt(namespace: string, jobId: string, timeMs: number): readonly string[]
  /** All allocations with the ID of the job, including terminal ones and earlier registrations. */
  allocationsOf(namespace: string, jobId: string): readonly AllocationRow[]
  findNode(id: string): PublicNode | undefined
  /** A dynamic volume of the namespace. */
  findHostVolume(namespace: string, id: string): HostVolumeRecord | undefined
  /** Ready, eligible, not draining nodes of the pool. `all` is every pool. */
  readyNodes(pool: string): readonly PublicNode[]
  /** Resources of the allocations that the node has not reported as terminated. */
  usageOn(nodeId: string): NodeUsage
  /** The same for all nodes in columns, if available; otherwise each node is read by itself. */
  readonly usageColumns?: UsageColumns | undefined
  /** All allocations on the node, of any job, including terminal ones. */
  allocationsOn(nodeId: string): readonly AllocationRow[]
  /** Scheduler settings of the cluster with the overrides of the pool. */
  settingsFor(pool: string): PlacementSettings
}

/** The part of the view that placement reads. */
export type PlacementView = Pick<
  ClusterView,
  | 'findNode'
  | 'findHostVolume'
  | 'readyNodes'
  | 'usageOn'
  | 'usageColumns'
  | 'allocationsOn'
  | 'jobVersionOf'
  | 'settingsFor'
>

export interface PlacementSettings {
  readonly algorithm: SchedulerAlgorithm
  /** Whether tasks may use memory beyond what they reserve. */
  readonly memoryOversubscription: boolean
  /** Job types that may preempt; by default only system jobs. */
  readonly preemption?: PreemptionConfig
}

/** All inputs besides the view: equal inputs give equal plans. */
export interface SchedulingContext {
  readonly nowMs: number
  readonly ids: IdSource
  readonly random: Random
  /**
   * Other evaluations of the job that this run also completes. Allocations that wait for one of
   * them are due.
   */
  readonly coalescedEvaluations?: readonly Pick<Evaluation, 'ID' | 'TriggeredBy'>[]
  /**
   * Maximum number of placements in one plan, if any. Beyond it the plan is partial: its evaluation
   * stays pending, and the next plan continues.
   */
  readonly placementsMax?: number
  /**
   * Monotonic time in nanoseconds, for `AllocationTime`. Absent where plans must be reproducible.
   */
  readonly monotonicNs?: () => number
}

/** True for jobs that run on every feasible node (system and sysbatch). */
export function isSystemJob(job: Job): boolean {
  return isSystemType(job.Type)
}

/**
 * True if missing allocations are placed all together or not at all; does not apply to system jobs.
 */
export function isAllAtOnce(job: Job): boolean {
  return job.AllAtOnce && !isSystemJob(job)
}
