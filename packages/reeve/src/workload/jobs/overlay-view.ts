import type { Job } from '@reeve/contract'
import type { ClusterView } from '../../scheduler/index.ts'
import { jobVersionKey, namespacedKey, type Change } from '../../state/index.ts'

/**
 * A view of the cluster with these changes of jobs and job versions applied, which are all changes
 * of a registration that the scheduler reads. Nothing is written or copied.
 */
export function overlayView(
  view: ClusterView,
  index: number,
  changes: readonly Change[],
): ClusterView {
  const jobs = new Map<string, Job>()
  const versions = new Map<string, Job>()
  const deletedVersions = new Set<string>()
  for (const change of changes) {
    if (change.table === 'jobs' && change.row !== undefined)
      jobs.set(namespacedKey(change.row.Namespace, change.row.ID), change.row)
    if (change.table !== 'job_versions') continue
    if (change.row === undefined) deletedVersions.add(change.key)
    else versions.set(versionKey(change.row), change.row)
  }
  const { usageColumns } = view
  return {
    index,
    findJob: (namespace, id) =>
      jobs.get(namespacedKey(namespace, id)) ?? view.findJob(namespace, id),
    jobVersionOf: (row) =>
      versions.get(jobVersionKey(row.Namespace, row.JobID, row.JobVersion)) ??
      view.jobVersionOf(row),
    versionsOf: (namespace, jobId) => [
      ...view.versionsOf(namespace, jobId).filter((row) => !deletedVersions.has(versionKey(row))),
      // Only the newest version is ever written.
      ...[...versions.values()].filter((row) => row.Namespace === namespace && row.ID === jobId),
    ],
    findDeployment: (id) => view.findDeployment(id),
    deploymentsOf: (namespace, jobId) => view.deploymentsOf(namespace, jobId),
    latestDeployment: (namespace, jobId) => view.latestDeployment(namespace, jobId),
    isPendingEvaluation: (evaluationId) => view.isPendingEvaluation(evaluationId),
    evaluationsDueAt: (namespace, jobId, timeMs) => view.evaluationsDueAt(namespace, jobId, timeMs),
    allocationsOf: (namespace, jobId) => view.allocationsOf(namespace, jobId),
    findNode: (id) => view.findNode(id),
    findHostVolume: (namespace, id) => view.findHostVolume(namespace, id),
    readyNodes: (pool) => view.readyNodes(pool),
    usageOn: (nodeId) => view.usageOn(nodeId),
    ...(usageColumns === undefined ? {} : { usageColumns }),
    allocationsOn: (nodeId) => view.allocationsOn(nodeId),
    settingsFor: (pool) => view.settingsFor(pool),
  }
}

function versionKey({ Namespace, ID, Version }: Job): string {
  return jobVersionKey(Namespace, ID, Version)
}
