import type { FieldDiff, JobDiff, ObjectDiff } from '@reeve/contract'
import { ApiError, type Client } from '@reeve/sdk'
import { mapLimited } from './import-source.ts'
import type { Fields } from './import-plan.ts'
import type { JobRecord, JobVersionRecord } from './workload-inventory.ts'
import type { FieldChange, JobCheck, JobWrite, WorkloadWrite } from './workload-plan.ts'

/** What the target says of every job of the source, by namespace and id. Writes nothing. */
export async function checkJobs(
  client: Client,
  jobs: readonly JobRecord[],
): Promise<ReadonlyMap<string, JobCheck>> {
  const { data } = await client.v1.listNamespaces()
  const namespaces = new Set(data.map(({ Name }) => Name))
  const checks = await mapLimited(jobs, async (job) => {
    const key = `${job.namespace}/${job.id}`
    return [key, await checkJob(client, job, namespaces.has(job.namespace))] as const
  })
  return new Map(checks)
}

async function checkJob(client: Client, job: JobRecord, hasNamespace: boolean): Promise<JobCheck> {
  const newest = job.versions.at(-1)
  if (newest === undefined) return { known: undefined, refusal: undefined }
  const known = hasNamespace ? await findJob(client, job) : undefined
  // Where a namespace or pool is still to be created, the job is checked in one that is there.
  const place = hasNamespace ? {} : { Namespace: 'default', NodePool: 'default' }
  const refusal = await refusalOf(client, { ...bodyOf(newest), ...place })
  if (refusal !== undefined || known === undefined) return { known: undefined, refusal }
  const isStopped = known.Stop
  for (let i = job.versions.length - 1; i >= 0; i--) {
    const differences = await differencesOf(client, job.versions[i] ?? newest)
    if (differences.length === 0) return { known: { isStopped, equals: i, differences }, refusal }
    // A job that runs was not left behind by an import that was interrupted.
    if (!isStopped) return { known: { isStopped, equals: undefined, differences }, refusal }
  }
  const differences = await differencesOf(client, newest)
  return { known: { isStopped, equals: undefined, differences }, refusal }
}

async function findJob({ v1 }: Client, { namespace, id }: JobRecord) {
  try {
    return (await v1.readJob({ params: { job_id: id }, query: { namespace } })).data
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return undefined
    throw thrown
  }
}

/** The region is the target's own; indexes and states mean nothing here. */
function bodyOf({ job }: JobVersionRecord): Fields {
  const { Region: _, ...body } = job
  return body
}

async function refusalOf({ v1 }: Client, job: Fields): Promise<string | undefined> {
  try {
    const { data } = await v1.validateJob({ body: { Job: job } })
    return data.ValidationErrors?.[0] ?? (data.Error === '' ? undefined : data.Error)
  } catch (thrown) {
    if (thrown instanceof ApiError && (thrown.status === 400 || thrown.status === 403))
      return thrown.text.trim()
    throw thrown
  }
}

async function differencesOf(
  { v1 }: Client,
  version: JobVersionRecord,
): Promise<readonly FieldChange[]> {
  const job = bodyOf(version)
  const params = { job_id: String(job['ID']) }
  const query = { namespace: String(version.job['Namespace']) }
  const { data } = await v1.planJob({ params, query, body: { Job: job, Diff: true } })
  // A job that was imported is stopped until somebody starts it: that is no other job.
  return data.Diff === null ? [] : changesOf(data.Diff).filter(({ field }) => field !== 'Stop')
}

function changesOf({ Fields, Objects, TaskGroups }: JobDiff): readonly FieldChange[] {
  const inGroups = (TaskGroups ?? []).flatMap((group) => [
    ...changedIn(group, `TaskGroups[${group.Name}]`),
    ...(group.Tasks ?? []).flatMap((task) =>
      changedIn(task, `TaskGroups[${group.Name}].Tasks[${task.Name}]`),
    ),
  ])
  return [...changedIn({ Fields, Objects }, ''), ...inGroups]
}

interface Changed {
  readonly Fields: readonly FieldDiff[] | null
  readonly Objects: readonly ObjectDiff[] | null
}

/** The target's job is the old one of the comparison, the source's the new one. */
function changedIn({ Fields: changed, Objects: objects }: Changed, path: string): FieldChange[] {
  const prefix = path === '' ? '' : `${path}.`
  return [
    ...(changed ?? [])
      .filter(({ Type }) => Type !== 'None')
      .map(({ Name, Old, New }) => ({ field: prefix + Name, source: New, target: Old })),
    ...(objects ?? []).flatMap((object) => changedIn(object, prefix + object.Name)),
  ]
}

/** Writes one action. Every one may be repeated. */
export async function writeWorkload({ v1 }: Client, write: WorkloadWrite): Promise<void> {
  switch (write.type) {
    case 'namespace':
      return void (await v1.writeNamespace({ body: write.body }))
    case 'node-pool':
      return void (await v1.writeNodePool({ body: write.body }))
    case 'acl-policy': {
      const params = { policy_name: String(write.body['Name']) }
      return void (await v1.writeAclPolicy({ params, body: write.body }))
    }
    case 'acl-role':
      return void (write.id === undefined
        ? await v1.createAclRole({ body: write.body })
        : await v1.updateAclRole({
            params: { role_id: write.id },
            body: { ...write.body, ID: write.id },
          }))
    case 'variable': {
      const { namespace, path, items, isNew } = write
      // What somebody has written meanwhile is not overwritten.
      const query = { namespace, ...(isNew ? { cas: '0' } : {}) }
      // Values of variables are texts.
      const body = { Items: items as Readonly<Record<string, string>> }
      return void (await v1.writeVariable({ params: { path }, query, body }))
    }
    case 'job':
      for (const version of write.versions) await register(v1, version)
  }
}

async function register(v1: Client['v1'], version: JobWrite): Promise<void> {
  const { submission = null } = version
  const namespace = String(version.job['Namespace'])
  // The target validates whatever it is given.
  const Job = bodyOf(version) as never
  const body = { Job, Submission: submission, Stopped: version.isStopped }
  await v1.registerJob({ query: { namespace }, body })
}
