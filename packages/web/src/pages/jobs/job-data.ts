import type { JobStatusRow } from '@reeve/contract'
import type { UseQueryResult } from '@tanstack/react-query'
import { useRead } from '../../data/use-read.ts'
import type { Watch } from '../../data/watch.ts'
import type { JobName } from '../../paths.ts'

/** The reads of the job page. Equal keys are one request, whichever part of the page asks. */

function watchesOf({ namespace, id }: JobName, ...topics: readonly Watch['topic'][]): Watch[] {
  return topics.map((topic) => ({ topic, namespace, key: id }))
}

export function useJob(name: JobName) {
  const { namespace, id } = name
  return useRead(
    ['job', namespace, id],
    (api, signal) => api.v1.readJob({ params: { job_id: id }, query: { namespace }, signal }),
    { watches: watchesOf(name, 'Job', 'Allocation', 'Evaluation') },
  )
}

/** The job with one short line for each allocation; see `isLarge`. */
export function useJobStatus(
  name: JobName,
  isWanted: boolean,
): UseQueryResult<readonly JobStatusRow[]> {
  const { namespace, id } = name
  return useRead(
    ['job-status', namespace, id],
    (api, signal) =>
      api.v1.listStatusesOfJobs({
        query: { namespace },
        body: { Jobs: [{ ID: id, Namespace: namespace }], IncludeChildren: true },
        signal,
      }),
    {
      enabled: isWanted,
      watches: watchesOf(name, 'Job', 'Allocation', 'Deployment', 'Evaluation'),
    },
  )
}

/** Reads the health of the job without its allocations, for the badge. */
export function useJobHealth(
  name: JobName,
  isWanted: boolean,
): UseQueryResult<readonly JobStatusRow[]> {
  const { namespace, id } = name
  return useRead(
    ['job-health', namespace, id],
    (api, signal) =>
      api.v1.listStatusesOfJobs({
        query: { namespace, counts: true },
        body: { Jobs: [{ ID: id, Namespace: namespace }], IncludeChildren: true },
        signal,
      }),
    {
      enabled: isWanted,
      watches: watchesOf(name, 'Job', 'Allocation', 'Deployment', 'Evaluation'),
    },
  )
}

export function useJobSummary(name: JobName, isWanted: boolean) {
  const { namespace, id } = name
  return useRead(
    ['job-summary', namespace, id],
    (api, signal) =>
      api.v1.readJobSummary({ params: { job_id: id }, query: { namespace }, signal }),
    { enabled: isWanted, watches: watchesOf(name, 'Job', 'Allocation') },
  )
}

export function useJobDeployments(name: JobName) {
  const { namespace, id } = name
  return useRead(
    ['job-deployments', namespace, id],
    (api, signal) =>
      api.v1.listJobDeployments({ params: { job_id: id }, query: { namespace }, signal }),
    { watches: watchesOf(name, 'Deployment', 'Job') },
  )
}

export function useJobAllocations(name: JobName) {
  const { namespace, id } = name
  return useRead(
    ['job-allocations', namespace, id],
    (api, signal) =>
      api.v1.listJobAllocations({ params: { job_id: id }, query: { namespace }, signal }),
    { watches: watchesOf(name, 'Allocation') },
  )
}

export function useJobEvaluations(name: JobName) {
  const { namespace, id } = name
  return useRead(
    ['job-evaluations', namespace, id],
    (api, signal) =>
      api.v1.listJobEvaluations({ params: { job_id: id }, query: { namespace }, signal }),
    { watches: watchesOf(name, 'Evaluation') },
  )
}

export function useJobVersions(name: JobName, against: number | undefined) {
  const { namespace, id } = name
  return useRead(
    ['job-versions', namespace, id, against],
    (api, signal) =>
      api.v1.listJobVersions({
        params: { job_id: id },
        query: { namespace, diffs: true, diff_version: against },
        signal,
      }),
    { watches: watchesOf(name, 'Job') },
  )
}

export function useJobExplanation(name: JobName) {
  const { namespace, id } = name
  return useRead(
    ['job-explain', namespace, id],
    (api, signal) => api.v1.explainJob({ params: { job_id: id }, query: { namespace }, signal }),
    { watches: [...watchesOf(name, 'Job', 'Allocation', 'Evaluation'), { topic: 'Node' }] },
  )
}
