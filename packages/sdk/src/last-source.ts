import type { Job, JobSubmission } from '@reeve/contract'
import type { Client } from './client.ts'

/**
 * The text that a stopped job was made from: that of the version that ran last, since that of the
 * stop has none. Undefined where none is kept.
 */
export async function lastSource(
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
