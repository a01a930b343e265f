import type { JobSubmission } from '@reeve/contract'
import { ApiError, type Client } from '@reeve/sdk'
import { mapConcurrently, type PeerNames, translateFields, translatePath } from './source.ts'
import type { Fields, Omission } from './import-plan.ts'

/** A variable. `items` is undefined if the values are not readable. */
interface VariableRecord {
  readonly namespace: string
  readonly path: string
  readonly items: Fields | undefined
  readonly isLocked: boolean
}

/** A submitted job file, without namespace and version. */
type Submission = Pick<JobSubmission, 'Source' | 'Format' | 'Variables' | 'VariableFlags'>

export interface JobVersionRecord {
  readonly job: Fields
  /** The submitted job file, if the source stores it. */
  readonly submission: Submission | undefined
}

export interface JobRecord {
  readonly namespace: string
  readonly id: string
  /** The retained versions, oldest first. */
  readonly versions: readonly JobVersionRecord[]
}

/** The objects of a workload installation, with translated names. */
export interface WorkloadInventory {
  readonly namespaces: readonly Fields[]
  readonly nodePools: readonly Fields[]
  readonly aclPolicies: readonly Fields[]
  readonly aclRoles: readonly Fields[]
  readonly aclTokens: readonly Fields[]
  readonly variables: readonly VariableRecord[]
  readonly jobs: readonly JobRecord[]
  /** Names of child jobs, which are not imported. */
  readonly childJobs: readonly string[]
  /** Kinds of objects that the token may not read. */
  readonly gaps: readonly Omission[]
}

/** Reads all objects that the token may read. */
export async function readWorkload(client: Client, names: PeerNames): Promise<WorkloadInventory> {
  const gaps: Omission[] = []
  const read = async (kind: string, list: () => Promise<readonly Fields[]>) => {
    try {
      return await list()
    } catch (thrown) {
      gaps.push({
        kind,
        name: '*',
        reason: `The source does not show them: ${rejectionMessage(thrown)}`,
      })
      return []
    }
  }
  const aclPolicies = await read('acl-policy', () => readAclPolicies(client))
  const aclRoles = await read('acl-role', async () => (await client.v1.listAclRoles()).data)
  const aclTokens = await read('acl-token', () => collect(client.pages('listAclTokens')))
  const jobStubs = await collect(client.pages('listJobs', { query: { namespace: '*' } }))
  const isChild = ({ ParentID }: { readonly ParentID?: string }) => (ParentID ?? '') !== ''
  const parents = jobStubs.filter((stub) => !isChild(stub))
  return {
    namespaces: (await client.v1.listNamespaces()).data,
    nodePools: await collect(client.pages('listNodePools')),
    aclPolicies,
    aclRoles,
    aclTokens,
    variables: await readVariables(client, names),
    jobs: await mapConcurrently(parents, ({ Namespace, ID }) =>
      readJob({ client, names }, Namespace, ID),
    ),
    childJobs: jobStubs.filter(isChild).map(({ Namespace, ID }) => `${Namespace}/${ID}`),
    gaps,
  }
}

/** Returns the message of a rejected request; other errors are rethrown. */
export function rejectionMessage(thrown: unknown): string {
  if (thrown instanceof ApiError && thrown.status < 500 && thrown.status !== 401)
    return thrown.text.trim() || `status ${thrown.status}`
  throw thrown
}

export async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Reads each policy, because the list omits the rules. */
async function readAclPolicies({ v1 }: Client): Promise<readonly Fields[]> {
  const { data } = await v1.listAclPolicies()
  return await mapConcurrently(data, async ({ Name }) => {
    const read = await v1.readAclPolicy({ params: { policy_name: Name } })
    return { ...read.data }
  })
}

async function readVariables(client: Client, names: PeerNames): Promise<readonly VariableRecord[]> {
  const list = await collect(client.pages('listVariables', { query: { namespace: '*' } }))
  return await mapConcurrently(list, async ({ Namespace: namespace, Path, Lock }) => {
    const items = await readItems(client, namespace, Path)
    const isLocked = (Lock ?? null) !== null
    return { namespace, path: translatePath(names, Path), items, isLocked }
  })
}

async function readItems(
  { v1 }: Client,
  namespace: string,
  path: string,
): Promise<Fields | undefined> {
  try {
    const { data } = await v1.readVariable({ params: { path }, query: { namespace } })
    return data.Items
  } catch (thrown) {
    if (thrown instanceof ApiError && (thrown.status === 403 || thrown.status === 404))
      return undefined
    throw thrown
  }
}

interface Source {
  readonly client: Client
  readonly names: PeerNames
}

async function readJob(
  { client, names }: Source,
  namespace: string,
  id: string,
): Promise<JobRecord> {
  const params = { job_id: id }
  const { data } = await client.v1.listJobVersions({ params, query: { namespace } })
  const oldestFirst = (data.Versions ?? []).toSorted((a, b) => a.Version - b.Version)
  const versions = await mapConcurrently(oldestFirst, async (job) => ({
    job: translateFields(names, job),
    submission: await readSubmission(client, { namespace, id, version: job.Version }),
  }))
  return { namespace, id, versions }
}

async function readSubmission(
  { v1 }: Client,
  { namespace, id, version }: { namespace: string; id: string; version: number },
): Promise<Submission | undefined> {
  try {
    const query = { namespace, version }
    const { data } = await v1.readJobSubmission({ params: { job_id: id }, query })
    const { Source, Format, Variables, VariableFlags } = data
    return { Source, Format, Variables, VariableFlags }
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return undefined
    throw thrown
  }
}
