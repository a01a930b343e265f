import type { Deployment, Evaluation, HostVolumeRecord, Job } from '@reeve/contract'
import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  NO_USAGE,
  type AllocationRow,
  type PublicNode,
} from '../../src/model/index.ts'
import {
  schedule,
  type ClusterView,
  type PlacementSettings,
  type Plan,
  type SchedulingContext,
} from '../../src/scheduler/index.ts'
import { anEvaluation } from './evaluation.ts'
import { nodes } from './node.ts'
import { countedIds, seededRandom } from './ids.ts'

export interface ClusterParts {
  /** How many plain nodes, or the nodes themselves. */
  readonly nodes?: number | readonly PublicNode[]
  readonly job?: Job
  /** Earlier versions of jobs, for the allocations that still run them. */
  readonly versions?: readonly Job[]
  readonly allocations?: readonly AllocationRow[]
  /** Oldest first. */
  readonly deployments?: readonly Deployment[]
  /** Evaluations that are over; whatever else is named is still to come. */
  readonly over?: readonly string[]
  /** Evaluations that wait for their time. */
  readonly waiting?: readonly Evaluation[]
  readonly volumes?: readonly HostVolumeRecord[]
  readonly settings?: Partial<PlacementSettings>
}

/** A cluster made of arrays. */
export function aCluster(parts: ClusterParts = {}): ClusterView {
  const all = typeof parts.nodes === 'object' ? parts.nodes : nodes(parts.nodes ?? 1)
  const allocations = parts.allocations ?? []
  const jobs = parts.job === undefined ? [] : [parts.job]
  const versions = [...jobs, ...(parts.versions ?? [])]
  const deployments = parts.deployments ?? []
  const deploymentsOf = (namespace: string, id: string): readonly Deployment[] =>
    deployments.filter((one) => one.Namespace === namespace && one.JobID === id)
  return {
    index: 1_000,
    findJob: (namespace, id) => jobs.find((job) => job.Namespace === namespace && job.ID === id),
    jobVersionOf: (row) =>
      versions.find((job) => job.ID === row.JobID && job.Version === row.JobVersion),
    versionsOf: (namespace, id) =>
      versions
        .filter((job) => job.Namespace === namespace && job.ID === id)
        .toSorted((a, b) => a.Version - b.Version),
    findDeployment: (id) => deployments.find((one) => one.ID === id),
    deploymentsOf,
    latestDeployment: (namespace, id) => deploymentsOf(namespace, id).at(-1),
    isPendingEvaluation: (id) => parts.over?.includes(id) !== true,
    evaluationsDueAt: (namespace, jobId, timeMs) =>
      (parts.waiting ?? [])
        .filter((one) => one.Namespace === namespace && one.JobID === jobId)
        .filter((one) => Date.parse(one.WaitUntil) === timeMs)
        .map((one) => one.ID),
    allocationsOf: (namespace, id) =>
      allocations.filter((row) => row.Namespace === namespace && row.JobID === id),
    findNode: (id) => all.find((node) => node.ID === id),
    findHostVolume: (namespace, id) =>
      (parts.volumes ?? []).find((one) => one.Namespace === namespace && one.ID === id),
    readyNodes: (pool) => all.filter((node) => isReady(node) && isIn(node, pool)),
    usageOn: (id) =>
      allocations
        .filter((row) => row.NodeID === id && !isClientTerminal(row))
        .reduce((usage, row) => addToUsage(usage, chargeOf(row.AllocatedResources)), NO_USAGE),
    allocationsOn: (id) => allocations.filter((row) => row.NodeID === id),
    settingsFor: () => ({
      algorithm: 'binpack',
      memoryOversubscription: false,
      ...parts.settings,
    }),
  }
}

/** Everything that is not in a view, the same for the same seed. */
export function seeded(seed: number): SchedulingContext {
  return { nowMs: NOW_MS, ids: countedIds(), random: seededRandom(seed) }
}

/** When the tests of the scheduler take place. */
export const NOW_MS = 1_700_000_000_000

/** What an evaluation of the cluster's job decides. */
export function planFor(
  parts: ClusterParts & { readonly job: Job },
  evaluation: Partial<Evaluation> = {},
): Plan {
  return schedule(aCluster(parts), anEvaluation(parts.job, evaluation), seeded(1))
}

function isReady(node: PublicNode): boolean {
  const { Status, SchedulingEligibility, DrainStrategy } = node
  return Status === 'ready' && SchedulingEligibility === 'eligible' && DrainStrategy === null
}

function isIn(node: PublicNode, pool: string): boolean {
  return pool === 'all' || pool === '' || node.NodePool === pool
}
