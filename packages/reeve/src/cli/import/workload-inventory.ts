import type { JobSubmission } from '@reeve/contract'
import { ApiError, type Client } from '@reeve/sdk'
import { mapLimited } from './import-source.ts'
import type { Fields, Omission } from './import-plan.ts'
import { fieldsInOurNames, pathInOurNames, type PeerNames } from './peer-names.ts'

/** A variable; without `items` its values cannot be read. */
export interface VariableRecord {
  readonly namespace: string
  readonly path: string
  readonly items: Fields | undefined
  readonly isLocked: boolean
}

/** A job file without the place that it had. */
export type Submission = Pick<JobSubmission, 'Source' | 'Format' | 'Variables' | 'VariableFlags'>

export interface JobVersionRecord {
  readonly job: Fields
  /** The job file, where the source keeps it. */
  readonly submission: Submission | undefined
}

export interface JobRecord {
  readonly namespace: string
  readonly id: string
  /** The kept versions, oldest first. */
  readonly versions: readonly JobVersionRecord[]
}

/** What a workload installation has, in our names. */
export interface WorkloadInventory {
  readonly namespaces: readonly Fields[]
  readonly nodePools: readonly Fields[]
  readonly aclPolicies: readonly Fields[]
  readonly aclRoles: readonly Fields[]
  readonly aclTokens: readonly Fields[]
  readonly variables: readonly VariableRecord[]
  readonly jobs: readonly JobRecord[]
  /** Launched by their parents: their names. */
  readonly childJobs: readonly string[]
  /** Parts that the installation does not show. */
  readonly gaps: readonly Omission[]
}

/** Reads an installation as far as its token may. */
export async function readWorkload(client: Client, names: PeerNames): Promise<WorkloadInventory> {
  const gaps: Omission[] = []
  const read = async (kind: string, list: () => Promise<readonly Fields[]>) => {
    try {
      return await list()
    } catch (thrown) {
      gaps.push({ kind, name: '*', reason: `The source does not show them: ${refusalOf(thrown)}` })
      return []
    }
  }
  const aclPolicies = await read('acl-policy', () => readAclPolicies(client))
  const aclRoles = await read('acl-role', async () => (await client.v1.listAclRoles()).data)
  const aclTokens = await read('acl-token', () => collected(client.pages('listAclTokens')))
  const stubs = await collected(client.pages('listJobs', { query: { namespace: '*' } }))
  const isChild = ({ ParentID }: { readonly ParentID?: string }) => (ParentID ?? '') !== ''
  const parents = stubs.filter((stub) => !isChild(stub))
  return {
    namespaces: (await client.v1.listNamespaces()).data,
    nodePools: await collected(client.pages('listNodePools')),
    aclPolicies,
    aclRoles,
    aclTokens,
    variables: await readVariables(client, names),
    jobs: await mapLimited(parents, ({ Namespace, ID }) =>
      readJob({ client, names }, Namespace, ID),
    ),
    childJobs: stubs.filter(isChild).map(({ Namespace, ID }) => `${Namespace}/${ID}`),
    gaps,
  }
}

/** Why a part is not shown; what is no refusal is a fault of the whole import. */
export function refusalOf(thrown: unknown): string {
  if (thrown instanceof ApiError && thrown.status < 500 && thrown.status !== 401)
    return thrown.text.trim() || `status ${thrown.status}`
  throw thrown
}

export async function collected<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Lists leave the rules out. */
async function readAclPolicies({ v1 }: Client): Promise<readonly Fields[]> {
  const { data } = await v1.listAclPolicies()
  return await mapLimited(data, async ({ Name }) => {
    const read = await v1.readAclPolicy({ params: { policy_name: Name } })
    return { ...read.data }
  })
}

async function readVariables(client: Client, names: PeerNames): Promise<readonly VariableRecord[]> {
  const list = await collected(client.pages('listVariables', { query: { namespace: '*' } }))
  return await mapLimited(list, async ({ Namespace: namespace, Path, Lock }) => {
    const items = await readItems(client, namespace, Path)
    const isLocked = (Lock ?? null) !== null
    return { namespace, path: pathInOurNames(names, Path), items, isLocked }
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
  const versions = await mapLimited(oldestFirst, async (job) => ({
    job: fieldsInOurNames(names, job),
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
