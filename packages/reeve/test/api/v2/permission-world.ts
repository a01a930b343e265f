import { v2 } from '@reeve/contract'
import fc from 'fast-check'
import { put, type Change, type GovernanceRows } from '../../../src/state/index.ts'
import { aBody, aGovernanceServer, type GovernanceServer } from './harness.ts'
import { newWorkspace } from './workspace-calls.ts'

const { ACCESS_VALUES, ORGANIZATION_ACCESS, PROJECT_ACCESS_LEVELS, WORKSPACE_ACCESS_LEVELS } = v2

/** A random organization: teams, what they hold, and what they were given. */
export interface PlannedWorld {
  readonly allowForceDelete: boolean
  readonly teams: readonly {
    readonly access: readonly v2.OrganizationAccess[]
    readonly visibility: 'secret' | 'organization'
    readonly allowsMembers: boolean
  }[]
  /** By the positions of team and project, with the attributes of the request. */
  readonly projectAccesses: readonly (readonly [number, number, object])[]
  readonly workspaceAccesses: readonly (readonly [number, number, object])[]
  /** The teams that the one user is in. */
  readonly memberOf: readonly number[]
}

const TEAMS = 2
const PROJECTS = 3
const WORKSPACES = 4

/** A boolean, or one of the values that the contract has for the name. */
function values(names: readonly string[]): fc.Arbitrary<object> {
  const choices: Readonly<Record<string, readonly string[]>> = ACCESS_VALUES
  return fc.record(
    Object.fromEntries(
      names.map((name): [string, fc.Arbitrary<unknown>] => {
        const known = choices[name]
        return [name, known === undefined ? fc.boolean() : fc.constantFrom(...known)]
      }),
    ),
    { requiredKeys: [] },
  )
}

const workspaceValues = [
  'runs',
  'variables',
  'state-versions',
  'policy-mocks',
  'run-tasks',
  'policy-overrides',
]

const projectAccess = fc.oneof(
  fc.constantFrom(...PROJECT_ACCESS_LEVELS).map((access): object => ({ access })),
  fc.record({
    access: fc.constant('custom'),
    'project-access': values(['settings', 'teams', 'variable-sets']),
    'workspace-access': values([...workspaceValues, 'create', 'locking', 'delete', 'move']),
  }),
)

const workspaceAccess = fc.oneof(
  fc.constantFrom(...WORKSPACE_ACCESS_LEVELS).map((access): object => ({ access })),
  values([...workspaceValues, 'workspace-locking']).map((own) => ({ ...own, access: 'custom' })),
)

function given(places: number, access: fc.Arbitrary<object>) {
  const one = fc.tuple(fc.nat(TEAMS - 1), fc.nat(places - 1), access)
  return fc.uniqueArray(one, { maxLength: 4, selector: ([team, place]) => `${team} ${place}` })
}

export const plannedWorld: fc.Arbitrary<PlannedWorld> = fc.record({
  allowForceDelete: fc.boolean(),
  teams: fc.array(
    fc.record({
      access: fc.subarray([...ORGANIZATION_ACCESS], { maxLength: 2 }),
      visibility: fc.constantFrom('secret' as const, 'organization' as const),
      allowsMembers: fc.boolean(),
    }),
    { minLength: TEAMS, maxLength: TEAMS },
  ),
  projectAccesses: given(PROJECTS, projectAccess),
  workspaceAccesses: given(WORKSPACES, workspaceAccess),
  memberOf: fc.subarray(Array.from({ length: TEAMS }, (_, i) => i)),
})

export interface World {
  readonly it: GovernanceServer
  /** The first is the default one; each holds a workspace, the last one two. */
  readonly projectIds: readonly string[]
  readonly workspaceIds: readonly string[]
  readonly teamIds: readonly string[]
  /** A team that everybody sees and that has access to everything; nobody is in it. */
  readonly probeId: string
  /** Bearer secrets by who they are. */
  readonly callers: Readonly<Record<string, string>>
}

const ACME = { organization_name: 'acme' }

export async function buildWorld(plan: PlannedWorld): Promise<World> {
  const it = await aGovernanceServer()
  const organization = await it.organization('acme')
  const setting = { 'allow-force-delete-workspaces': plan.allowForceDelete }
  await it.ok('updateOrganization', { params: ACME, body: aBody('organizations', setting) })
  const projectIds = [organization.relationships['default-project'].data.id]
  for (const name of ['one', 'two']) projectIds.push((await it.project('acme', { name })).id)
  const workspaceIds: string[] = []
  for (let i = 0; i < WORKSPACES; i++) {
    const projectId = projectIds[Math.min(i, PROJECTS - 1)] ?? ''
    const workspace = await newWorkspace(it, `w${i}`, { projectId, tags: { [`k${i % 2}`]: '' } })
    workspaceIds.push(workspace.id)
  }
  const probe = await it.team('acme', 'probe')
  await patchTeam(it, probe.id, { visibility: 'organization' })
  const teams = await buildTeams(it, plan)
  const teamIds = teams.map(({ id }) => id)
  const giveAll = async () => {
    for (const id of projectIds) await giveProject(it, [probe.id, id, { access: 'read' }])
    for (const id of workspaceIds) await giveWorkspace(it, [probe.id, id, { access: 'read' }])
    for (const [team, place, access] of plan.projectAccesses)
      await giveProject(it, [teamIds[team] ?? '', projectIds[place] ?? '', access])
    for (const [team, place, access] of plan.workspaceAccesses)
      await giveWorkspace(it, [teamIds[team] ?? '', workspaceIds[place] ?? '', access])
  }
  await giveAll()
  const memberOf = plan.memberOf.map((team) => teamIds[team] ?? '')
  const callers = await buildCallers(it, { tokens: teams.map(({ token }) => token), memberOf })
  return { it, projectIds, workspaceIds, teamIds, probeId: probe.id, callers }
}

async function patchTeam(it: GovernanceServer, id: string, attributes: object): Promise<void> {
  await it.ok('updateTeam', { params: { team_id: id }, body: aBody('teams', attributes) })
}

async function buildTeams(it: GovernanceServer, { teams }: PlannedWorld) {
  const made: { readonly id: string; readonly token: string }[] = []
  for (const [i, { access, visibility, allowsMembers }] of teams.entries()) {
    const held = Object.fromEntries(access.map((name) => [name, true]))
    const team = await it.team('acme', `team-${i}`, held)
    const settings = { visibility, 'allow-member-token-management': allowsMembers }
    await patchTeam(it, team.id, settings)
    made.push(team)
  }
  return made
}

type Given = readonly [string, string, object]

async function giveProject(it: GovernanceServer, [teamId, id, attributes]: Given): Promise<void> {
  const body = accessBody('project', [teamId, id, attributes])
  await it.created('createTeamProjectAccess', { body })
}

async function giveWorkspace(it: GovernanceServer, [teamId, id, attributes]: Given): Promise<void> {
  const body = accessBody('workspace', [teamId, id, attributes])
  await it.created('createTeamWorkspaceAccess', { body })
}

/** A request that gives a team access to a project or workspace. */
export function accessBody(
  what: 'project' | 'workspace',
  [teamId, id, attributes]: Given,
): ReturnType<typeof aBody> {
  return aBody(`team-${what}s`, attributes, {
    [what]: { data: { type: `${what}s`, id } },
    team: { data: { type: 'teams', id: teamId } },
  })
}

async function buildCallers(
  it: GovernanceServer,
  {
    tokens,
    memberOf,
  }: { readonly tokens: readonly string[]; readonly memberOf: readonly string[] },
): Promise<Readonly<Record<string, string>>> {
  const callers: Record<string, string> = {}
  tokens.forEach((token, i) => (callers[`team-${i}`] = token))
  const user = await it.user('alice')
  const teams = { data: memberOf.map((id) => ({ type: 'teams', id })) }
  const { data } = await it.created('createOrganizationMembership', {
    params: ACME,
    body: aBody('organization-memberships', { email: 'alice@example.com' }, { teams }),
  })
  const params = { organization_membership_id: data.id }
  await it.ok('acceptOrganizationMembership', { params, as: user.token })
  callers['alice'] = user.token
  const token = await it.created('createOrganizationToken', { params: ACME })
  callers['organization'] = token.data.attributes.token
  callers['stranger'] = (await it.user('eve')).token
  return callers
}

const RESTORED = [
  'api_tokens',
  'projects',
  'tag_bindings',
  'team_memberships',
  'team_projects',
  'team_workspaces',
  'teams',
  'workspaces',
] as const satisfies readonly (keyof GovernanceRows)[]

/** Tries something and puts back what it removed or changed. */
export async function undone<T>({ it }: World, attempt: () => Promise<T>): Promise<T> {
  const { store } = it.server.context
  const before = RESTORED.map((table) => [table, [...store.tables[table].rows()]] as const)
  const result = await attempt()
  const changes = before.flatMap(([table, rows]): readonly Change[] =>
    rows
      .filter((row) => store.tables[table].find(keyOf(table, row)) !== row)
      // The rows are those of the table.
      .map((row) => put(table, row as never)),
  )
  await store.commit({ by: 'system', cause: undefined, changes: () => changes }).durable
  return result

  function keyOf(table: (typeof RESTORED)[number], row: object): string {
    // The rows are those of the table.
    return store.tables[table].spec.key(row as never)
  }
}
