import { ApiError, type Client } from '@reeve/sdk'
import type { Fields, Omission } from './import-plan.ts'
import { mapLimited } from './import-source.ts'
import { fieldsInOurNames, type PeerNames } from './peer-names.ts'
import { collected, refusalOf } from './workload-inventory.ts'

/** A record with the things that it names by their names: ids mean nothing elsewhere. */
export interface GovernanceRecord {
  readonly id: string
  readonly name: string
  readonly attributes: Fields
}

export interface TaggedRecord extends GovernanceRecord {
  /** Of its own, by key. */
  readonly tags: Fields
}

export interface WorkspaceRecord extends TaggedRecord {
  readonly project: string
  /** Keys and categories: values are not carried over. */
  readonly variables: readonly { readonly key: string; readonly category: string }[]
}

export interface PolicyRecord extends GovernanceRecord {
  /** Undefined: nothing was uploaded. */
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
  readonly place: string
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

/** An installation that is read. */
export interface GovernanceSource {
  readonly client: Client
  /** JSON at a path that this API does not have; undefined where the installation has none. */
  readonly get: (path: string) => Promise<unknown>
  /** Their names of members and values, with ours. */
  readonly names: Pick<PeerNames, 'fields' | 'values'>
}

/** Reads the organizations of these names; all that the token sees without any. */
export async function readGovernance(
  source: GovernanceSource,
  wanted: readonly string[],
): Promise<readonly OrganizationInventory[]> {
  const all = await collected(source.client.pages('listOrganizations'))
  const folded = new Set(wanted.map((name) => name.toLowerCase()))
  const chosen = all.filter(({ id }) => folded.size === 0 || folded.has(id.toLowerCase()))
  const inventories: OrganizationInventory[] = []
  for (const { id, attributes } of chosen)
    inventories.push(await readOrganization(source, id, fieldsInOurNames(source.names, attributes)))
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
      const reason = `The source does not show them: ${refusalOf(thrown)}`
      gaps.push({ kind, name: `${name}/*`, reason })
      return []
    }
  }
  const params = { organization_name: name }
  const projects = await read('project', () => readProjects(source, name))
  const teams = await read('team', async () =>
    (await collected(client.pages('listTeams', { params }))).map((one) => record(source, one)),
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
      (await collected(client.pages('listReservedTagKeys', { params }))).map((one) =>
        record(source, one, 'key'),
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

function record(
  { names }: GovernanceSource,
  { id, attributes: theirs }: ApiResource,
  nameField = 'name',
): GovernanceRecord {
  const attributes = fieldsInOurNames(names, theirs)
  const name = attributes[nameField]
  return { id, name: typeof name === 'string' ? name : id, attributes }
}

async function readProjects(source: GovernanceSource, organization: string) {
  const { client } = source
  const params = { organization_name: organization }
  const all = await collected(client.pages('listProjects', { params }))
  return await mapLimited(all, async (project): Promise<TaggedRecord> => {
    const { data } = await client.v2.listProjectTagBindings({ params: { project_id: project.id } })
    return { ...record(source, project), tags: tagsOf(data.data) }
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
  const all = await collected(client.pages('listWorkspaces', { params }))
  return await mapLimited(all, async (workspace): Promise<WorkspaceRecord> => {
    const { data } = await client.v2.listWorkspaceTagBindings({
      params: { workspace_id: workspace.id },
    })
    const projectId = workspace.relationships.project.data.id
    return {
      ...record(source, workspace),
      project: projects.find(({ id }) => id === projectId)?.name ?? '',
      tags: tagsOf(data.data),
      variables: variablesOf(
        await source.get(`/api/v2/workspaces/${encodeURIComponent(workspace.id)}/vars`),
      ),
    }
  })
}

/** A workspace has variables at installations that execute runs. */
function variablesOf(document: unknown): WorkspaceRecord['variables'] {
  return itemsAt(document, 'data').map((item) => {
    const attributes = memberOf(item, 'attributes')
    const [key, category] = [memberOf(attributes, 'key'), memberOf(attributes, 'category')]
    return { key: String(key), category: String(category) }
  })
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

function itemsAt(value: unknown, name: string): readonly unknown[] {
  const items = memberOf(value, name)
  return Array.isArray(items) ? items : []
}

async function readPolicies(source: GovernanceSource, organization: string) {
  const { client } = source
  const params = { organization_name: organization }
  const all = await collected(client.pages('listOrganizationPolicies', { params }))
  return await mapLimited(all, async (policy): Promise<PolicyRecord> => ({
    ...record(source, policy),
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

interface Places {
  readonly teams: readonly GovernanceRecord[]
  readonly projects: readonly GovernanceRecord[]
  readonly workspaces: readonly GovernanceRecord[]
  readonly policies: readonly GovernanceRecord[]
}

async function readProjectAccesses(source: GovernanceSource, { teams, projects }: Places) {
  const lists = await mapLimited(projects, async (project) => {
    const query = { 'filter[project][id]': project.id }
    const all = await collected(source.client.pages('listTeamProjectAccesses', { query }))
    return all.map((one) => access(source, one, { teams, place: project }))
  })
  return lists.flat()
}

async function readWorkspaceAccesses(source: GovernanceSource, { teams, workspaces }: Places) {
  const lists = await mapLimited(workspaces, async (workspace) => {
    const query = { 'filter[workspace][id]': workspace.id }
    const all = await collected(source.client.pages('listTeamWorkspaceAccesses', { query }))
    return all.map((one) => access(source, one, { teams, place: workspace }))
  })
  return lists.flat()
}

function access(
  source: GovernanceSource,
  resource: ApiResource,
  { teams, place }: { teams: readonly GovernanceRecord[]; place: GovernanceRecord },
): AccessRecord {
  const [teamId] = idsOf(resource, 'team')
  const team = teams.find(({ id }) => id === teamId)?.name ?? ''
  const { id, attributes } = record(source, resource)
  return { id, attributes, team, place: place.name, name: `${team} on ${place.name}` }
}

function idsOf({ relationships }: ApiResource, name: string): readonly string[] {
  const data = memberOf(memberOf(relationships, name), 'data')
  return [data ?? []].flat().map((one) => String(memberOf(one, 'id')))
}

async function readPolicySets(source: GovernanceSource, organization: string, places: Places) {
  const { client } = source
  const params = { organization_name: organization }
  const all = await collected(client.pages('listPolicySets', { params }))
  return await mapLimited(all, async (set): Promise<PolicySetRecord> => {
    const named = (relation: string, of: readonly GovernanceRecord[]) => {
      const ids = new Set(idsOf(set, relation))
      return of
        .filter(({ id }) => ids.has(id))
        .map(({ name }) => name)
        .toSorted()
    }
    const parameters = await collected(
      client.pages('listPolicySetParameters', { params: { policy_set_id: set.id } }),
    )
    return {
      ...record(source, set),
      members: {
        policies: named('policies', places.policies),
        projects: named('projects', places.projects),
        workspaces: named('workspaces', places.workspaces),
        'project-exclusions': named('project-exclusions', places.projects),
        'workspace-exclusions': named('workspace-exclusions', places.workspaces),
      },
      parameters: parameters.map((one) => record(source, one, 'key')),
    }
  })
}

async function readMembers(client: Client, organization: string): Promise<readonly string[]> {
  const params = { organization_name: organization }
  const all = await collected(client.pages('listOrganizationMemberships', { params }))
  return all.map(({ attributes }) => attributes.email)
}
