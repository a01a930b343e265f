import type { Deployment, Job } from '@reeve/contract'
import { countAllocations, movesCounters, type AllocationChange } from '../model/index.ts'
import { put, type Change } from './store.ts'
import { jobVersionKey, namespacedKey, type Tables } from './tables.ts'

/**
 * Completes changes of allocations and deployments by what follows from them: the counters of each
 * deployment concerned, and that a version whose deployment ended well is stable. Costs nothing per
 * row that belongs to no deployment.
 */
export function withDeploymentRows(tables: Tables, changes: readonly Change[]): readonly Change[] {
  if (!changes.some(isOfDeployment)) return changes
  const moved = movedAllocations(tables, changes)
  const written = writtenDeployments(changes)
  if (moved.size === 0 && written.size === 0) return changes
  const removed = removedDeployments(changes)
  for (const [id, allocations] of moved) {
    const deployment = written.get(id) ?? tables.deployments.find(id)
    if (deployment === undefined || removed.has(id)) continue
    const counted = countAllocations(deployment, allocations)
    if (counted !== deployment) written.set(id, counted)
  }
  const rest = changes.filter(({ table, row }) => table !== 'deployments' || row === undefined)
  const stable = [...written.values()].flatMap((row) => stableRows(tables, rest, row))
  return [...rest, ...[...written.values()].map((row) => put('deployments', row)), ...stable]
}

/** A deployment, or an allocation of one: most commits write neither. */
function isOfDeployment(change: Change): boolean {
  if (change.table === 'deployments') return true
  return change.table === 'allocations' && (change.row?.DeploymentID ?? '') !== ''
}

/** Allocations that joined a deployment or whose health changed, by deployment. */
function movedAllocations(
  tables: Tables,
  changes: readonly Change[],
): ReadonlyMap<string, AllocationChange[]> {
  const moved = new Map<string, AllocationChange[]>()
  for (const change of changes) {
    if (change.table !== 'allocations' || change.row === undefined) continue
    const after = change.row
    const id = after.DeploymentID ?? ''
    if (id === '') continue
    const pair = { before: tables.allocations.find(after.ID), after }
    if (!movesCounters(pair)) continue
    const known = moved.get(id)
    if (known === undefined) moved.set(id, [pair])
    else known.push(pair)
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

/** The job, while it is at that version, and the version itself. */
function stableRows(
  tables: Tables,
  changes: readonly Change[],
  deployment: Deployment,
): readonly Change[] {
  const { Namespace, JobID, JobVersion } = deployment
  const before = tables.deployments.find(deployment.ID)
  if (deployment.Status !== 'successful' || before?.Status === 'successful') return []
  const job = findJob(tables, changes, deployment)
  const version = tables.job_versions.find(jobVersionKey(Namespace, JobID, JobVersion))
  const isOf = (row: Job | undefined): row is Job =>
    row?.Version === JobVersion && row.CreateIndex === deployment.JobCreateIndex && !row.Stable
  return [
    ...(isOf(job) ? [put('jobs', { ...job, Stable: true })] : []),
    ...(isOf(version) ? [put('job_versions', { ...version, Stable: true })] : []),
  ]
}

/** As it will be after the changes; undefined when they remove it. */
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
