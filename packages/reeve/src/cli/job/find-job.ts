import { ApiError, type ItemOf } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { chooseOne } from '../prefix.ts'

type JobStub = ItemOf<'listJobs'>

const CANDIDATES_MAX = 50

/** The job that a person means: its id, or the only one that begins so. */
export async function findJob(invocation: Invocation, given: string): Promise<JobStub> {
  const namespace = invocation.settings.namespace ?? 'default'
  const found = await jobsLike(invocation, given, namespace)
  if (found.length === 0 && namespace !== '*') await lookElsewhere(invocation, given, namespace)
  return chooseOne({
    noun: 'job',
    given,
    found,
    idOf: (job) => job.ID,
    describe: (job) => (namespace === '*' ? `${job.ID} (namespace ${job.Namespace})` : job.ID),
    where: namespace === '*' ? 'in any namespace' : `in namespace "${namespace}"`,
    lists: 'reeve job status',
  })
}

/**
 * The same for commands whose right comes without that to list jobs: where it is missing, what was
 * given is the id.
 */
export async function findJobOrTakeId(
  invocation: Invocation,
  given: string,
): Promise<Pick<JobStub, 'ID' | 'Namespace'>> {
  const { namespace = 'default' } = invocation.settings
  return await findJob(invocation, given).catch((thrown: unknown) => {
    if (thrown instanceof ApiError && thrown.status === 403 && namespace !== '*')
      return { ID: given, Namespace: namespace }
    throw thrown
  })
}

async function jobsLike({ client }: Invocation, prefix: string, namespace: string) {
  const query = { prefix, namespace, per_page: CANDIDATES_MAX }
  return (await client.v1.listJobs({ query })).data
}

/** A job that is missed is most often in another namespace. */
async function lookElsewhere(
  invocation: Invocation,
  given: string,
  namespace: string,
): Promise<void> {
  const all = await jobsLike(invocation, given, '*')
  const places = all.filter(({ ID }) => ID === given).map((job) => job.Namespace)
  const [first] = places
  if (first === undefined) return
  throw new CommandFailure(`There is no job "${given}" in namespace "${namespace}".`, {
    code: EXIT_CODES.missing,
    hint:
      places.length === 1
        ? `There is one in namespace "${first}": give --namespace ${first}.`
        : `There are some in the namespaces ${places.join(', ')}: choose one with --namespace.`,
  })
}
