import { ApiError, type ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { resolveOne } from '../prefix.ts'

type JobStub = ItemOf<'listJobs'>

const CANDIDATES_MAX = 50

/** Finds the job with an ID or a unique prefix of one. */
export async function findJob(invocation: CommandContext, input: string): Promise<JobStub> {
  const namespace = invocation.settings.namespace ?? 'default'
  const found = await listJobsByPrefix(invocation, input, namespace)
  if (found.length === 0 && namespace !== '*')
    await suggestOtherNamespace(invocation, input, namespace)
  return resolveOne({
    noun: 'job',
    input,
    matches: found,
    idOf: (job) => job.ID,
    describe: (job) => (namespace === '*' ? `${job.ID} (namespace ${job.Namespace})` : job.ID),
    scope: namespace === '*' ? 'in any namespace' : `in namespace "${namespace}"`,
    listCommand: 'reeve job status',
  })
}

/**
 * Like `findJob`, for commands whose capability does not include listing jobs: without it, the
 * argument is used as the ID.
 */
export async function findJobOrUseId(
  invocation: CommandContext,
  given: string,
): Promise<Pick<JobStub, 'ID' | 'Namespace'>> {
  const { namespace = 'default' } = invocation.settings
  return await findJob(invocation, given).catch((thrown: unknown) => {
    if (thrown instanceof ApiError && thrown.status === 403 && namespace !== '*')
      return { ID: given, Namespace: namespace }
    throw thrown
  })
}

async function listJobsByPrefix({ client }: CommandContext, prefix: string, namespace: string) {
  const query = { prefix, namespace, per_page: CANDIDATES_MAX }
  return (await client.v1.listJobs({ query })).data
}

/** Throws an error that names other namespaces with a job of this ID, if there are any. */
async function suggestOtherNamespace(
  invocation: CommandContext,
  given: string,
  namespace: string,
): Promise<void> {
  const all = await listJobsByPrefix(invocation, given, '*')
  const namespaces = all.filter(({ ID }) => ID === given).map((job) => job.Namespace)
  const [first] = namespaces
  if (first === undefined) return
  throw new CommandError(`There is no job "${given}" in namespace "${namespace}".`, {
    code: EXIT_CODES.missing,
    hint:
      namespaces.length === 1
        ? `There is one in namespace "${first}": give --namespace ${first}.`
        : `There are some in the namespaces ${namespaces.join(', ')}: choose one with --namespace.`,
  })
}
