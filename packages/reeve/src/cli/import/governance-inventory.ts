import { ApiError, type Client } from '@reeve/sdk'
import type { Fields, Omission } from './import-plan.ts'
import { mapConcurrently, type PeerNames, translateFields } from './source.ts'
import { collect, rejectionMessage } from './workload-inventory.ts'

/** A record that refers to others by name, because IDs differ between installations. */
export interface GovernanceRecord {
  readonly id: string
  readonly name: string
  readonly attributes: Fields
}

export interface TaggedRecord extends GovernanceRecord {
  /** Tags of the record itself, by key. */
  readonly tags: Fields
}

export interface WorkspaceRecord extends TaggedRecord {
  readonly project: string
  /** Keys and categories. Values are not imported. */
  readonly variables: readonly { readonly key: string; readonly category: string }[]
}

export interface PolicyRecord extends GovernanceRecord {
  /** Undefined if no code was uploaded. */
  readonly code: string | undefined
}

export interface PolicySetRecord extends GovernanceRecord {
  readonly members: {
    readonly policies: readonly string[]
    readonly projects: readonly string[]
    readonly workspaces: readonly string[]
    readonly 'project-exclusions': readonly string[]
    readonly 'workspace-exclusions': readonly string[]
  }
  readonly parameters: readonly GovernanceRecord[]
}

/** The access of a team to a project or workspace. */
export interface AccessRecord extends GovernanceRecord {
  readonly team: string
  readonly target: string
}

export interface OrganizationInventory {
  readonly name: string
  readonly attributes: Fields
  readonly projects: readonly TaggedRecord[]
  readonly reservedTagKeys: readonly GovernanceRecord[]
  readonly teams: readonly GovernanceRecord[]
  readonly projectAccesses: readonly AccessRecord[]
  readonly workspaces: readonly WorkspaceRecord[]
  readonly workspaceAccesses: readonly AccessRecord[]
  readonly policies: readonly PolicyRecord[]
  readonly policySets: readonly PolicySetRecord[]
  /** Addresses of the users. */
  readonly members: readonly string[]
  readonly gaps: readonly Omission[]
}

/** The installation to import from. */
interface GovernanceSource {
  readonly client: Client
  /** Reads JSON at a path that this API does not have; undefined if the source has none. */
  readonly get: (path: string) => Promise<unknown>
  /** Names of fields and values at the source, with ours. */
  readonly names: Pick<PeerNames, 'fields' | 'values'>
}

/** Reads the organizations with these names, or all that the token may see. */
export async function readGovernance(
  source: GovernanceSource,
  names: readonly string[],
): Promise<readonly OrganizationInventory[]> {
  const all = await collect(source.client.pages('listOrganizations'))
  const lowerCaseNames = new Set(names.map((name) => name.toLowerCase()))
  const selected = all.filter(
    ({ id }) => lowerCaseNames.size === 0 || lowerCaseNames.has(id.toLowerCase()),
  )
  const inventories: OrganizationInventory[] = []
  for (const { id, attributes } of selected)
    inventories.push(await readOrganization(source, id, translateFields(source.names, attributes)))
  return inventories
}

async function readOrganization(
  source: GovernanceSource,
  name: string,
  attributes: Fields,
): Promise<OrganizationInventory> {
  const { client } = source
  const gaps: Omission[] = []
  const read = async <T>(kind: string, list: () => Promise<readonly T[]>) => {
    try {
      return await list()
    } catch (thrown) {
      const reason = `The source does not show them: ${rejectionMessage(thrown)}`
      gaps.push({ kind, name: `${name}/*`, reason })
      return []
    }
  }
  const params = { organization_name: name }
  const projects = await read('project', () => readProjects(source, name))
  const teams = await read('team', async () =>
    (await collect(client.pages('listTeams', { params }))).map((one) => toRecord(source, one)),
  )
  const workspaces = await read('workspace', () => readWorkspaces(source, name, projects))
  const policies = await read('policy', () => readPolicies(source, name))
  const places = { teams, projects, workspaces, policies }
  return {
    name,
    attributes,
    projects,
    teams,
    workspaces,
    policies,
    reservedTagKeys: await read('reserved-tag-key', async () =>
      (await collect(client.pages('listReservedTagKeys', { params }))).map((one) =>
        toRecord(source, one, 'key'),
      ),
    ),
    projectAccesses: await read('team-project', () => readProjectAccesses(source, places)),
    workspaceAccesses: await read('team-workspace', () => readWorkspaceAccesses(source, places)),
    policySets: await read('policy-set', () => readPolicySets(source, name, places)),
    members: await read('member', () => readMembers(client, name)),
    gaps,
  }
}

interface ApiResource {
  readonly id: string
  readonly attributes: object
  readonly relationships?: object
}

function toRecord(
  { names }: GovernanceSource,
  { id, attributes: theirs }: ApiResource,
  nameField = 'name',
): GovernanceRecord {
  const attributes = translateFields(names, theirs)
  const name = attributes[nameField]
  return { id, name: typeof name === 'string' ? name : id, attributes }
}

async function readProjects(source: GovernanceSource, organization: string) {
  const { client } = source
  const params = { organization_name: organization }
  const all = await collect(client.pages('listProjects', { params }))
  return await mapConcurrently(all, async (project): Promise<TaggedRecord> => {
    const { data } = await client.v2.listProjectTagBindings({ params: { project_id: project.id } })
    return { ...toRecord(source, project), tags: tagsOf(data.data) }
  })
}

function tagsOf(
  bindings: readonly { readonly attributes: { readonly key: string; readonly value?: unknown } }[],
): Fields {
  return Object.fromEntries(
    bindings.map(({ attributes: { key, value } }) => [key, value ?? ''] as const),
  )
}

async function readWorkspaces(
  source: GovernanceSource,
  organization: string,
  projects: readonly GovernanceRecord[],
) {
  const { client } = source
  const params = { organization_name: organization }
  const all = await collect(client.pages('listWorkspaces', { params }))
  return await mapConcurrently(all, async (workspace): Promise<WorkspaceRecord> => {
    const { data } = await client.v2.listWorkspaceTagBindings({
      params: { workspace_id: workspace.id },
    })
    const projectId = workspace.relationships.project.data.id
    return {
      ...toRecord(source, workspace),
      project: projects.find(({ id }) => id === projectId)?.name ?? '',
      tags: tagsOf(data.data),
      variables: variablesOf(
        await source.get(`/api/v2/workspaces/${encodeURIComponent(workspace.id)}/vars`),
      ),
    }
  })
}

/** Reads workspace variables, which only installations that execute runs have. */
function variablesOf(document: unknown): WorkspaceRecord['variables'] {
  return arrayMember(document, 'data').map((item) => {
    const attributes = memberOf(item, 'attributes')
    const [key, category] = [memberOf(attributes, 'key'), memberOf(attributes, 'category')]
    return { key: String(key), category: String(category) }
  })
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

function arrayMember(value: unknown, name: string): readonly unknown[] {
  const items = memberOf(value, name)
  return Array.isArray(items) ? items : []
}

async function readPolicies(source: GovernanceSource, organization: string) {
  const { client } = source
  const params = { organization_name: organization }
  const all = await collect(client.pages('listOrganizationPolicies', { params }))
  return await mapConcurrently(all, async (policy): Promise<PolicyRecord> => ({
    ...toRecord(source, policy),
    code: await readCode(client, policy.id),
  }))
}

async function readCode({ v2 }: Client, id: string): Promise<string | undefined> {
  try {
    const { data } = await v2.downloadPolicy({ params: { policy_id: id } })
    return new TextDecoder().decode(data)
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return undefined
    throw thrown
  }
}

interface OrganizationRecords {
  readonly teams: readonly GovernanceRecord[]
  readonly projects: readonly GovernanceRecord[]
  readonly workspaces: readonly GovernanceRecord[]
  readonly policies: readonly GovernanceRecord[]
}

async function readProjectAccesses(
  source: GovernanceSource,
  { teams, projects }: OrganizationRecords,
) {
  const lists = await mapConcurrently(projects, async (project) => {
    const query = { 'filter[project][id]': project.id }
    const all = await collect(source.client.pages('listTeamProjectAccesses', { query }))
    return all.map((one) => toAccessRecord(source, one, { teams, place: project }))
  })
  return lists.flat()
}

async function readWorkspaceAccesses(
  source: GovernanceSource,
  { teams, workspaces }: OrganizationRecords,
) {
  const lists = await mapConcurrently(workspaces, async (workspace) => {
    const query = { 'filter[workspace][id]': workspace.id }
    const all = await collect(source.client.pages('listTeamWorkspaceAccesses', { query }))
    return all.map((one) => toAccessRecord(source, one, { teams, place: workspace }))
  })
  return lists.flat()
}

function toAccessRecord(
  source: GovernanceSource,
  resource: ApiResource,
  { teams, place }: { teams: readonly GovernanceRecord[]; place: GovernanceRecord },
): AccessRecord {
  const [teamId] = relatedIds(resource, 'team')
  const team = teams.find(({ id }) => id === teamId)?.name ?? ''
  const { id, attributes } = toRecord(source, resource)
  return { id, attributes, team, target: place.name, name: `${team} on ${place.name}` }
}

function relatedIds({ relationships }: ApiResource, name: string): readonly string[] {
  const data = memberOf(memberOf(relationships, name), 'data')
  return [data ?? []].flat().map((one) => String(memberOf(one, 'id')))
}

async function readPolicySets(
  source: GovernanceSource,
  organization: string,
  places: OrganizationRecords,
) {
  const { client } = source
  const params = { organization_name: organization }
  const all = await collect(client.pages('listPolicySets', { params }))
  return await mapConcurrently(all, async (set): Promise<PolicySetRecord> => {
    const named = (relation: string, of: readonly GovernanceRecord[]) => {
      const ids = new Set(relatedIds(set, relation))
      return of
        .filter(({ id }) => ids.has(id))
        .map(({ name }) => name)
        .toSorted()
    }
    const parameters = await collect(
      client.pages('listPolicySetParameters', { params: { policy_set_id: set.id } }),
    )
    return {
      ...toRecord(source, set),
      members: {
        policies: named('policies', places.policies),
        projects: named('projects', places.projects),
        workspaces: named('workspaces', places.workspaces),
        'project-exclusions': named('project-exclusions', places.projects),
        'workspace-exclusions': named('workspace-exclusions', places.workspaces),
      },
      parameters: parameters.map((one) => toRecord(source, one, 'key')),
    }
  })
}

async function readMembers(client: Client, organization: string): Promise<readonly string[]> {
  const params = { organization_name: organization }
  const all = await collect(client.pages('listOrganizationMemberships', { params }))
  return all.map(({ attributes }) => attributes.email)
}
