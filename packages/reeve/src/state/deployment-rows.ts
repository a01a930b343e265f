import type { Deployment, Job } from '@reeve/contract'
import { applyToCounters, affectsCounters, type AllocationChange } from '../model/index.ts'
import { put, type Change } from './store.ts'
import { jobVersionKey, namespacedKey, type Tables } from './tables.ts'

/**
 * Adds the derived changes of deployments: updated counters, and the Stable flag of a version whose
 * deployment succeeded. Rows without a deployment cost nothing.
 */
export function withDeploymentRows(tables: Tables, changes: readonly Change[]): readonly Change[] {
  if (!changes.some(affectsDeployments)) return changes
  const changedAllocations = changedAllocationsByDeployment(tables, changes)
  const written = writtenDeployments(changes)
  if (changedAllocations.size === 0 && written.size === 0) return changes
  const removed = removedDeployments(changes)
  for (const [id, allocations] of changedAllocations) {
    const deployment = written.get(id) ?? tables.deployments.find(id)
    if (deployment === undefined || removed.has(id)) continue
    const counted = applyToCounters(deployment, allocations)
    if (counted !== deployment) written.set(id, counted)
  }
  const rest = changes.filter(({ table, row }) => table !== 'deployments' || row === undefined)
  const stable = [...written.values()].flatMap((row) => markStableRows(tables, rest, row))
  return [...rest, ...[...written.values()].map((row) => put('deployments', row)), ...stable]
}

/** True for a deployment or an allocation of one; most commits write neither. */
function affectsDeployments(change: Change): boolean {
  if (change.table === 'deployments') return true
  return change.table === 'allocations' && (change.row?.DeploymentID ?? '') !== ''
}

/** Allocations that joined a deployment or whose health changed, by deployment. */
function changedAllocationsByDeployment(
  tables: Tables,
  changes: readonly Change[],
): ReadonlyMap<string, AllocationChange[]> {
  const moved = new Map<string, AllocationChange[]>()
  for (const change of changes) {
    if (change.table !== 'allocations' || change.row === undefined) continue
    const after = change.row
    const id = after.DeploymentID ?? ''
    if (id === '') continue
    const allocationChange = { before: tables.allocations.find(after.ID), after }
    if (!affectsCounters(allocationChange)) continue
    const existing = moved.get(id)
    if (existing === undefined) moved.set(id, [allocationChange])
    else existing.push(allocationChange)
  }
  return moved
}

function writtenDeployments(changes: readonly Change[]): Map<string, Deployment> {
  const written = new Map<string, Deployment>()
  for (const change of changes)
    if (change.table === 'deployments' && change.row !== undefined)
      written.set(change.row.ID, change.row)
  return written
}

function removedDeployments(changes: readonly Change[]): ReadonlySet<string> {
  return new Set(
    changes.flatMap((change) =>
      change.table === 'deployments' && change.row === undefined ? [change.key] : [],
    ),
  )
}

/** Marks the version as stable, and the job itself if it is still at that version. */
function markStableRows(
  tables: Tables,
  changes: readonly Change[],
  deployment: Deployment,
): readonly Change[] {
  const { Namespace, JobID, JobVersion } = deployment
  const before = tables.deployments.find(deployment.ID)
  if (deployment.Status !== 'successful' || before?.Status === 'successful') return []
  const job = findJob(tables, changes, deployment)
  const version = tables.job_versions.find(jobVersionKey(Namespace, JobID, JobVersion))
  const isUnstableVersion = (row: Job | undefined): row is Job =>
    row?.Version === JobVersion && row.CreateIndex === deployment.JobCreateIndex && !row.Stable
  return [
    ...(isUnstableVersion(job) ? [put('jobs', { ...job, Stable: true })] : []),
    ...(isUnstableVersion(version) ? [put('job_versions', { ...version, Stable: true })] : []),
  ]
}

/** The job after the changes; undefined if they delete it. */
function findJob(
  tables: Tables,
  changes: readonly Change[],
  { Namespace, JobID }: Deployment,
): Job | undefined {
  const key = namespacedKey(Namespace, JobID)
  const change = changes.findLast(
    (one) =>
      one.table === 'jobs' &&
      (one.row === undefined ? one.key : namespacedKey(one.row.Namespace, one.row.ID)) === key,
  )
  if (change?.table !== 'jobs') return tables.jobs.find(key)
  return change.row
}
