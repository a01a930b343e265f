import type { FieldDiff, JobDiff, ObjectDiff } from '@reeve/contract'
import { ApiError, type Client } from '@reeve/sdk'
import { mapConcurrently } from './source.ts'
import type { Fields } from './import-plan.ts'
import type { JobRecord, JobVersionRecord } from './workload-inventory.ts'
import type { FieldChange, JobCheck, JobWrite, WorkloadWrite } from './workload-plan.ts'

/** Checks each source job against the target, by namespace and ID. Writes nothing. */
export async function checkJobs(
  client: Client,
  jobs: readonly JobRecord[],
): Promise<ReadonlyMap<string, JobCheck>> {
  const { data } = await client.v1.listNamespaces()
  const namespaces = new Set(data.map(({ Name }) => Name))
  const checks = await mapConcurrently(jobs, async (job) => {
    const key = `${job.namespace}/${job.id}`
    return [key, await checkJob(client, job, namespaces.has(job.namespace))] as const
  })
  return new Map(checks)
}

async function checkJob(client: Client, job: JobRecord, hasNamespace: boolean): Promise<JobCheck> {
  const newest = job.versions.at(-1)
  if (newest === undefined) return { existing: undefined, rejection: undefined }
  const known = hasNamespace ? await findJob(client, job) : undefined
  // If the namespace does not exist yet, the job is validated in the default one.
  const placementOverride = hasNamespace ? {} : { Namespace: 'default', NodePool: 'default' }
  const refusal = await validationError(client, {
    ...jobWithoutRegion(newest),
    ...placementOverride,
  })
  if (refusal !== undefined || known === undefined)
    return { existing: undefined, rejection: refusal }
  const isStopped = known.Stop
  for (let i = job.versions.length - 1; i >= 0; i--) {
    const differences = await differencesOf(client, job.versions[i] ?? newest)
    if (differences.length === 0)
      return { existing: { isStopped, equals: i, differences }, rejection: refusal }
    // A running job was not left by an interrupted import.
    if (!isStopped)
      return { existing: { isStopped, equals: undefined, differences }, rejection: refusal }
  }
  const differences = await differencesOf(client, newest)
  return { existing: { isStopped, equals: undefined, differences }, rejection: refusal }
}

async function findJob({ v1 }: Client, { namespace, id }: JobRecord) {
  try {
    return (await v1.readJob({ params: { job_id: id }, query: { namespace } })).data
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return undefined
    throw thrown
  }
}

/** Removes the region, which the target sets. */
function jobWithoutRegion({ job }: JobVersionRecord): Fields {
  const { Region: _, ...body } = job
  return body
}

async function validationError({ v1 }: Client, job: Fields): Promise<string | undefined> {
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
  const job = jobWithoutRegion(version)
  const params = { job_id: String(job['ID']) }
  const query = { namespace: String(version.job['Namespace']) }
  const { data } = await v1.planJob({ params, query, body: { Job: job, Diff: true } })
  // Imported jobs are stopped until somebody starts them; that is no difference.
  return data.Diff === null ? [] : changesOf(data.Diff).filter(({ field }) => field !== 'Stop')
}

function changesOf({ Fields, Objects, TaskGroups }: JobDiff): readonly FieldChange[] {
  const inGroups = (TaskGroups ?? []).flatMap((group) => [
    ...collectChanges(group, `TaskGroups[${group.Name}]`),
    ...(group.Tasks ?? []).flatMap((task) =>
      collectChanges(task, `TaskGroups[${group.Name}].Tasks[${task.Name}]`),
    ),
  ])
  return [...collectChanges({ Fields, Objects }, ''), ...inGroups]
}

interface FieldChanges {
  readonly Fields: readonly FieldDiff[] | null
  readonly Objects: readonly ObjectDiff[] | null
}

/** Collects changed fields. In the diff, the target is the old job and the source the new one. */
function collectChanges(
  { Fields: changed, Objects: objects }: FieldChanges,
  path: string,
): FieldChange[] {
  const prefix = path === '' ? '' : `${path}.`
  return [
    ...(changed ?? [])
      .filter(({ Type }) => Type !== 'None')
      .map(({ Name, Old, New }) => ({ field: prefix + Name, source: New, target: Old })),
    ...(objects ?? []).flatMap((object) => collectChanges(object, prefix + object.Name)),
  ]
}

/** Writes one action. Actions are idempotent. */
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
      // A variable created in the meantime is not overwritten.
      const query = { namespace, ...(isNew ? { cas: '0' } : {}) }
      // Proof: values of variables are strings.
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
  // Proof: the target validates the job.
  const Job = jobWithoutRegion(version) as never
  const body = { Job, Submission: submission, Stopped: version.isStopped }
  await v1.registerJob({ query: { namespace }, body })
}
