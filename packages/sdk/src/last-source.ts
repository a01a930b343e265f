import type { Job, JobSubmission } from '@reeve/contract'
import type { Client } from './client.ts'

/**
 * Returns the submitted text of the last version of a stopped job that ran; the version of the stop
 * has none. Undefined if no text is kept.
 */
export async function fetchLastSubmission(
  { v1 }: Pick<Client, 'v1'>,
  { ID, Namespace }: Pick<Job, 'ID' | 'Namespace'>,
): Promise<JobSubmission | undefined> {
  const params = { job_id: ID }
  const query = { namespace: Namespace }
  const { data } = await v1.listJobVersions({ params, query })
  const last = data.Versions.find(({ Stop }) => !Stop)
  if (last === undefined) return undefined
  const reply = await v1
    .readJobSubmission({ params, query: { ...query, version: last.Version } })
    .catch(() => undefined)
  return reply?.data
}
