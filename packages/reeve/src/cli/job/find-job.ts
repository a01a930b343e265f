import type { ItemOf } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { chooseOne } from '../prefix.ts'

type JobStub = ItemOf<'listJobs'>

const CANDIDATES_MAX = 50

/** The job that a person means: its id, or the only one that begins so. */
export async function findJob({ client, settings }: Invocation, given: string): Promise<JobStub> {
  const { data } = await client.v1.listJobs({ query: { prefix: given, per_page: CANDIDATES_MAX } })
  const namespace = settings.namespace ?? 'default'
  return chooseOne({
    noun: 'job',
    given,
    found: data,
    idOf: (job) => job.ID,
    describe: (job) => (namespace === '*' ? `${job.ID} (namespace ${job.Namespace})` : job.ID),
    where: namespace === '*' ? 'in any namespace' : `in namespace "${namespace}"`,
    lists: 'reeve job status --namespace "*"',
  })
}
