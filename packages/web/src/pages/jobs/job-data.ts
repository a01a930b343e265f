import type { Job, JobStatusRow } from '@reeve/contract'
import type { UseQueryResult } from '@tanstack/react-query'
import { useApiQuery } from '../../data/api-query.ts'
import type { Watch } from '../../data/live-feed.ts'
import type { JobName } from '../../paths.ts'

/** Queries of the job page. Equal keys share one request among the components. */

function jobWatches({ namespace, id }: JobName, ...topics: readonly Watch['topic'][]): Watch[] {
  return topics.map((topic) => ({ topic, namespace, key: id }))
}

export function useJob(name: JobName) {
  const { namespace, id } = name
  return useApiQuery(
    ['job', namespace, id],
    (api, signal) => api.v1.readJob({ params: { job_id: id }, query: { namespace }, signal }),
    { watches: jobWatches(name, 'Job', 'Allocation', 'Evaluation') },
  )
}

/** Reads the job with a short record per allocation; see `isTooLargeToList`. */
export function useJobStatus(
  name: JobName,
  enabled: boolean,
): UseQueryResult<readonly JobStatusRow[]> {
  const { namespace, id } = name
  return useApiQuery(
    ['job-status', namespace, id],
    (api, signal) =>
      api.v1.listStatusesOfJobs({
        query: { namespace },
        body: { Jobs: [{ ID: id, Namespace: namespace }], IncludeChildren: true },
        signal,
      }),
    {
      enabled: enabled,
      watches: jobWatches(name, 'Job', 'Allocation', 'Deployment', 'Evaluation'),
    },
  )
}

/** Reads the health of the job without its allocations, for the badge. */
export function useJobHealth(
  name: JobName,
  enabled: boolean,
): UseQueryResult<readonly JobStatusRow[]> {
  const { namespace, id } = name
  return useApiQuery(
    ['job-health', namespace, id],
    (api, signal) =>
      api.v1.listStatusesOfJobs({
        query: { namespace, counts: true },
        body: { Jobs: [{ ID: id, Namespace: namespace }], IncludeChildren: true },
        signal,
      }),
    {
      enabled: enabled,
      watches: jobWatches(name, 'Job', 'Allocation', 'Deployment', 'Evaluation'),
    },
  )
}

export function useJobSummary(name: JobName, enabled: boolean) {
  const { namespace, id } = name
  return useApiQuery(
    ['job-summary', namespace, id],
    (api, signal) =>
      api.v1.readJobSummary({ params: { job_id: id }, query: { namespace }, signal }),
    { enabled: enabled, watches: jobWatches(name, 'Job', 'Allocation') },
  )
}

export function useJobDeployments(name: JobName) {
  const { namespace, id } = name
  return useApiQuery(
    ['job-deployments', namespace, id],
    (api, signal) =>
      api.v1.listJobDeployments({ params: { job_id: id }, query: { namespace }, signal }),
    { watches: jobWatches(name, 'Deployment', 'Job') },
  )
}

export function useJobAllocations(name: JobName) {
  const { namespace, id } = name
  return useApiQuery(
    ['job-allocations', namespace, id],
    (api, signal) =>
      api.v1.listJobAllocations({ params: { job_id: id }, query: { namespace }, signal }),
    { watches: jobWatches(name, 'Allocation') },
  )
}

export function useJobEvaluations(name: JobName) {
  const { namespace, id } = name
  return useApiQuery(
    ['job-evaluations', namespace, id],
    (api, signal) =>
      api.v1.listJobEvaluations({ params: { job_id: id }, query: { namespace }, signal }),
    { watches: jobWatches(name, 'Evaluation') },
  )
}

/** Reads the latest denied and overridden submissions of the job. */
export function useJobDenials(name: JobName) {
  const { namespace, id } = name
  return useApiQuery(
    ['job-denials', namespace, id],
    (api, signal) =>
      api.v1.listJobVerdicts({
        params: { job_id: id },
        query: { namespace, reverse: true, per_page: 1 },
        signal,
      }),
    { watches: jobWatches(name, 'PolicyVerdict', 'Job') },
  )
}

export function useJobVersions(name: JobName, against: number | undefined) {
  const { namespace, id } = name
  return useApiQuery(
    ['job-versions', namespace, id, against],
    (api, signal) =>
      api.v1.listJobVersions({
        params: { job_id: id },
        query: { namespace, diffs: true, diff_version: against },
        signal,
      }),
    { watches: jobWatches(name, 'Job') },
  )
}

export function useJobExplanation(name: JobName) {
  const { namespace, id } = name
  return useApiQuery(
    ['job-explain', namespace, id],
    (api, signal) => api.v1.explainJob({ params: { job_id: id }, query: { namespace }, signal }),
    { watches: [...jobWatches(name, 'Job', 'Allocation', 'Evaluation'), { topic: 'Node' }] },
  )
}

/** Props of every tab of the job page. */
export interface JobView {
  readonly job: Job
  readonly name: JobName
  readonly search: URLSearchParams
}

/** Reports whether the URL opens the definition in the editor. */
export function isEditing(search: URLSearchParams): boolean {
  return search.get('edit') === 'yes'
}
