import type { JobHealth } from '@reeve/contract'
import { ApiError, type ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES } from '../errors.ts'
import { statusStyle } from '../output/color.ts'
import { agoFromNs, renderTable } from '../output/format.ts'
import { resolveOne } from '../resolve.ts'

type FindJobStub = ItemOf<'listJobs'>

const CANDIDATES_MAX = 50

/** Finds the job with an ID or a unique prefix of one. */
export async function findJob(invocation: CommandContext, input: string): Promise<FindJobStub> {
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
): Promise<Pick<FindJobStub, 'ID' | 'Namespace'>> {
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

export type JobStub = ItemOf<'listJobs'>

/** The newest children that a status page lists. */
const CHILDREN_SHOWN_MAX = 10

/** Children read per parent: older ones are garbage-collected by the server. */
const CHILDREN_READ_MAX = 1_000

/** Whether a job only launches child jobs: it is periodic or parameterized and no child itself. */
export function isParent(
  job: Pick<JobStub, 'ParentID'> & {
    readonly Periodic: unknown
    readonly ParameterizedJob: unknown
  },
): boolean {
  const launches = [job.Periodic, job.ParameterizedJob]
  return job.ParentID === '' && launches.some((value) => value !== null && value !== false)
}

/** The child jobs of a periodic or parameterized job, the newest first. */
export async function listChildren(
  { client, signal }: CommandContext,
  { ID, Namespace }: Pick<JobStub, 'ID' | 'Namespace'>,
): Promise<readonly JobStub[]> {
  const children: JobStub[] = []
  const query = { prefix: `${ID}/`, namespace: Namespace }
  for await (const job of client.pages('listJobs', { query, signal })) {
    if (job.ParentID === ID) children.push(job)
    if (children.length === CHILDREN_READ_MAX) break
  }
  return children.toSorted((a, b) => b.SubmitTime - a.SubmitTime || (a.ID < b.ID ? 1 : -1))
}

/** The newest children with their health. */
export function formatChildren(
  children: readonly JobStub[],
  healthOf: (child: JobStub) => JobHealth | undefined,
  { host, output }: CommandContext,
): string {
  if (children.length === 0) return ''
  const rows = children.slice(0, CHILDREN_SHOWN_MAX).map((child) => {
    const state = healthOf(child) ?? child.Status
    return [
      child.ID,
      output.paint(statusStyle(state), state),
      agoFromNs(child.SubmitTime, host.nowMs()),
    ]
  })
  const older = children.length - rows.length
  const more = older > 0 ? `… and ${older} older\n` : ''
  return `${output.paint('strong', 'Child jobs')}\n${renderTable(['ID', 'Status', 'Started'], rows)}${more}`
}
