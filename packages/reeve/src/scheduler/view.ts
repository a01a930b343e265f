import type {
  Deployment,
  Evaluation,
  HostVolumeRecord,
  Job,
  PreemptionConfig,
  SchedulerAlgorithm,
} from '@reeve/contract'
import type { IdSource, Random } from '@reeve/kit/clock.ts'
import type { AllocationRow, NodeUsage, PublicNode, UsageColumns } from '../model/index.ts'

/** What the scheduler may see. State satisfies it; a test satisfies it with arrays. */
export interface ClusterView {
  /** The state that the plan is made from. */
  readonly index: number
  /** The job as it is registered now; undefined when it was purged. */
  findJob(namespace: string, id: string): Job | undefined
  /** The version of its job that an allocation runs; undefined when that is no longer kept. */
  findJobOf(allocation: AllocationRow): Job | undefined
  /** The versions of the job that are kept, oldest first. */
  versionsOf(namespace: string, jobId: string): readonly Job[]
  /** Undefined when it is no longer kept. */
  findDeployment(id: string): Deployment | undefined
  /** Deployments of the job's ID, oldest first; those of earlier registrations too. */
  deploymentsOf(namespace: string, jobId: string): readonly Deployment[]
  /** The newest of them. */
  latestDeployment(namespace: string, jobId: string): Deployment | undefined
  /** Whether an evaluation that waits for its time is still to be carried out. */
  isToCome(evaluationId: string): boolean
  /** The evaluations of the job that wait for this very time. */
  evaluationsDueAt(namespace: string, jobId: string, timeMs: number): readonly string[]
  /** Every allocation of the job's ID, ended ones and those of earlier registrations too. */
  allocationsOf(namespace: string, jobId: string): readonly AllocationRow[]
  findNode(id: string): PublicNode | undefined
  /** A dynamic volume of the namespace. */
  findHostVolume(namespace: string, id: string): HostVolumeRecord | undefined
  /** Nodes of the pool that take work: ready, eligible, not draining. `all` is every pool. */
  readyNodes(pool: string): readonly PublicNode[]
  /** What the allocations hold that the node has not said to have ended. */
  usageOn(nodeId: string): NodeUsage
  /** The same in columns, where the state keeps them; without, every node is asked for its own. */
  readonly usageColumns?: UsageColumns | undefined
  /** Every allocation on the node, of whatever job, ended ones too. */
  allocationsOn(nodeId: string): readonly AllocationRow[]
  /** The cluster's settings, as the pool overrides them. */
  settingsFor(pool: string): PlacementSettings
}

/** As much of it as the search for a place looks at. */
export type PlacementView = Pick<
  ClusterView,
  | 'findNode'
  | 'findHostVolume'
  | 'readyNodes'
  | 'usageOn'
  | 'usageColumns'
  | 'allocationsOn'
  | 'findJobOf'
  | 'settingsFor'
>

export interface PlacementSettings {
  readonly algorithm: SchedulerAlgorithm
  /** Whether tasks may use memory beyond what they reserve. */
  readonly memoryOversubscription: boolean
  /** Which jobs may displace others; without it system jobs alone. */
  readonly preemption?: PreemptionConfig
}

/** Everything that is not in the view arrives here: equal inputs give equal plans. */
export interface SchedulingContext {
  readonly nowMs: number
  readonly ids: IdSource
  readonly random: Random
  /** Other evaluations of the job that the same run settles: what waits for them has its turn. */
  readonly settles?: readonly Pick<Evaluation, 'ID' | 'TriggeredBy'>[]
  /**
   * Allocations that one plan may place; any number unless given. Past it the plan is partial: its
   * evaluation stays pending, and the next plan goes on.
   */
  readonly placementsMax?: number
  /** Nanoseconds that only ever grow, for `AllocationTime`. Absent where plans must be equal. */
  readonly elapsedNs?: () => number
}
