import type { FieldDiff, JobDiff, ObjectDiff } from '@reeve/contract'
import { ApiError, type Client } from '@reeve/sdk'
import type { OrganizationInventory, GovernanceRecord } from './governance-inventory.ts'
import type { GovernanceKind, GovernanceWrite } from './governance-plan.ts'
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
  // Imported jobs are stopped until a user starts them, so this does not count as a difference.
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

/** IDs of target records by kind, organization and name, including newly created ones. */
export class TargetIds {
  readonly #ids = new Map<string, string>()

  constructor(target: readonly OrganizationInventory[]) {
    for (const organization of target) this.#addAll(organization)
  }

  #addAll(inventory: OrganizationInventory): void {
    const { name: organization } = inventory
    const lists: readonly (readonly [GovernanceKind, readonly GovernanceRecord[]])[] = [
      ['project', inventory.projects],
      ['team', inventory.teams],
      ['workspace', inventory.workspaces],
      ['policy', inventory.policies],
      ['policy-set', inventory.policySets],
    ]
    for (const [kind, records] of lists)
      for (const { name, id } of records) this.add(kind, { organization, name, id })
  }

  add(kind: GovernanceKind, record: { organization: string; name: string; id: string }): void {
    this.#ids.set(idKey(kind, record.organization, record.name), record.id)
  }

  find(kind: GovernanceKind, organization: string, name: string): string | undefined {
    return this.#ids.get(idKey(kind, organization, name))
  }

  get(kind: GovernanceKind, organization: string, name: string): string {
    const id = this.find(kind, organization, name)
    if (id === undefined) throw new MissingReference(kind, name)
    return id
  }
}

function idKey(kind: GovernanceKind, organization: string, name: string): string {
  return `${kind} ${organization}/${name}`.toLowerCase()
}

/** A referenced record is missing, because it failed or its kind is not readable at the source. */
export class MissingReference extends Error {
  override readonly name = 'MissingReference'

  constructor(kind: GovernanceKind, name: string) {
    super(`The target has no ${kind} "${name}".`)
  }
}

/** Writes one action. A repeated import continues after the last written record. */
export async function writeGovernance(
  client: Client,
  ids: TargetIds,
  write: GovernanceWrite,
): Promise<void> {
  const { type, organization, name } = write
  const id = await writers[type](client, ids, write)
  if (id !== undefined) ids.add(type, { organization, name, id })
  // A new organization has a default project.
  if (type === 'organization' && write.id === undefined) await addProjects(client, ids, name)
}

async function addProjects(client: Client, ids: TargetIds, organization: string): Promise<void> {
  const params = { organization_name: organization }
  for await (const { id, attributes } of client.pages('listProjects', { params }))
    ids.add('project', { organization, name: attributes.name, id })
}

type Writer = (
  client: Client,
  ids: TargetIds,
  write: GovernanceWrite,
) => Promise<string | undefined>

/** Builds the request document from source attributes. */
function requestDocument(type: string, write: GovernanceWrite, relationships?: object): never {
  const { attributes, tags } = write
  const bindings = Object.entries(tags ?? {}).map(([key, value]) => ({
    type: 'tag-bindings',
    attributes: { key, value },
  }))
  const tagged = tags === undefined ? {} : { 'tag-bindings': { data: bindings } }
  // The target validates the document and names what it rejects.
  return { data: { type, attributes, relationships: { ...tagged, ...relationships } } } as never
}

function toOne(type: string, id: string) {
  return { data: { type, id } }
}

const writers: Readonly<Record<GovernanceKind, Writer>> = {
  async organization({ v2 }, _ids, write) {
    const body = requestDocument('organizations', write)
    if (write.id === undefined) await v2.createOrganization({ body })
    else await v2.updateOrganization({ params: { organization_name: write.id }, body })
    return write.name
  },
  async project({ v2 }, ids, write) {
    const body = requestDocument('projects', write)
    // The default project was created together with its organization.
    const id = write.id ?? ids.find('project', write.organization, write.name)
    if (id !== undefined) {
      await v2.updateProject({ params: { project_id: id }, body })
      return id
    }
    const params = { organization_name: write.organization }
    return (await v2.createProject({ params, body })).data.data.id
  },
  async 'reserved-tag-key'({ v2 }, _ids, write) {
    const body = requestDocument('reserved-tag-keys', write)
    const params = { organization_name: write.organization }
    if (write.id === undefined) await v2.createReservedTagKey({ params, body })
    else await v2.updateReservedTagKey({ params: { reserved_tag_key_id: write.id }, body })
    return undefined
  },
  async team({ v2 }, _ids, write) {
    const body = requestDocument('teams', write)
    const params = { organization_name: write.organization }
    if (write.id === undefined) return (await v2.createTeam({ params, body })).data.data.id
    await v2.updateTeam({ params: { team_id: write.id }, body })
    return write.id
  },
  async 'team-project'({ v2 }, ids, write) {
    const { organization, team = '', accessTarget = '', id } = write
    const body = requestDocument('team-projects', write, {
      team: toOne('teams', ids.get('team', organization, team)),
      project: toOne('projects', ids.get('project', organization, accessTarget)),
    })
    if (id === undefined) await v2.createTeamProjectAccess({ body })
    else await v2.updateTeamProjectAccess({ params: { team_project_id: id }, body })
    return undefined
  },
  async workspace({ v2 }, ids, write) {
    const { organization, project = '', id } = write
    const projectId = ids.get('project', organization, project)
    const body = requestDocument('workspaces', write, { project: toOne('projects', projectId) })
    const params = { organization_name: organization }
    if (id === undefined) return (await v2.createWorkspace({ params, body })).data.data.id
    await v2.updateWorkspace({ params: { workspace_id: id }, body })
    return id
  },
  async 'team-workspace'({ v2 }, ids, write) {
    const { organization, team = '', accessTarget = '', id } = write
    const body = requestDocument('team-workspaces', write, {
      team: toOne('teams', ids.get('team', organization, team)),
      workspace: toOne('workspaces', ids.get('workspace', organization, accessTarget)),
    })
    if (id === undefined) await v2.createTeamWorkspaceAccess({ body })
    else await v2.updateTeamWorkspaceAccess({ params: { team_workspace_id: id }, body })
    return undefined
  },
  policy: writePolicy,
  'policy-set': writePolicySet,
  async parameter({ v2 }, ids, write) {
    const { organization, policySet = '', id } = write
    const policy_set_id = ids.get('policy-set', organization, policySet)
    const attributes: Fields = { ...write.attributes, category: 'policy-set' }
    const body = requestDocument('vars', { ...write, attributes })
    if (id === undefined) await v2.createPolicySetParameter({ params: { policy_set_id }, body })
    else await v2.updatePolicySetParameter({ params: { policy_set_id, parameter_id: id }, body })
    return undefined
  },
}

async function writePolicy(
  { v2 }: Client,
  _ids: TargetIds,
  write: GovernanceWrite,
): Promise<string> {
  const body = requestDocument('policies', write)
  const params = { organization_name: write.organization }
  const id = write.id ?? (await v2.createPolicy({ params, body })).data.data.id
  const policy = { policy_id: id }
  if (write.id !== undefined) await v2.updatePolicy({ params: policy, body })
  if (write.code !== undefined) await v2.uploadPolicy({ params: policy, body: write.code })
  return id
}

async function writePolicySet(
  { v2 }: Client,
  ids: TargetIds,
  write: GovernanceWrite,
): Promise<string> {
  const { organization, members, id } = write
  const related = (names: readonly string[], kind: GovernanceKind, type: string) => ({
    data: names.map((name) => ({ type, id: ids.get(kind, organization, name) })),
  })
  const isGlobal = write.attributes['global'] === true
  const relationships =
    members === undefined
      ? {}
      : {
          policies: related(members.policies, 'policy', 'policies'),
          ...(isGlobal
            ? {}
            : {
                projects: related(members.projects, 'project', 'projects'),
                workspaces: related(members.workspaces, 'workspace', 'workspaces'),
              }),
          'project-exclusions': related(members['project-exclusions'], 'project', 'projects'),
          'workspace-exclusions': related(
            members['workspace-exclusions'],
            'workspace',
            'workspaces',
          ),
        }
  const body = requestDocument('policy-sets', write, relationships)
  const params = { organization_name: organization }
  if (id === undefined) return (await v2.createPolicySet({ params, body })).data.data.id
  await v2.updatePolicySet({ params: { policy_set_id: id }, body })
  return id
}
