import { v2 } from '@reeve/contract'
import { resource, type ItemOf, includedResources, toMany, toOne } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { agoFromIso, renderFields, renderNonEmptyFields, renderTable } from '../output/format.ts'
import { resolveOne } from '../resolve.ts'
import { findProject, findTeam } from './find.ts'
import { resolveOrganization } from './flags.ts'
import { omitUndefined, enabledNames, printList, booleanFlag } from './output.ts'

type Organization = ItemOf<'listOrganizations'>

export async function runOrgList(invocation: CommandContext): Promise<number> {
  return await printList(invocation, invocation.client.pages('listOrganizations', {}), {
    heading: ['Name', 'Email', 'Created', 'Permissions'],
    row: ({ id, attributes }) => [
      id,
      attributes.email,
      attributes['created-at'],
      enabledNames(attributes.permissions),
    ],
    empty: 'There are no organizations. "reeve org create NAME --email EMAIL" creates one.',
  })
}

export async function runOrgShow(invocation: CommandContext): Promise<number> {
  const { data } = await invocation.client.v2.readOrganization({
    params: organizationParams(invocation),
  })
  return printOrganization(invocation, data.data, true)
}

export async function runOrgCreate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const email = flags.string('email')
  if (email === undefined) throw new UsageError('An organization needs --email.')
  const attributes = { name: args[0] ?? '', email, ...settingsOf(invocation) }
  const { data } = await client.v2.createOrganization({
    body: resource('organizations', attributes),
  })
  return printOrganization(invocation, data.data)
}

export async function runOrgUpdate(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const attributes = omitUndefined({
    name: flags.string('name'),
    email: flags.string('email'),
    ...settingsOf(invocation),
  })
  const { data } = await client.v2.updateOrganization({
    params: organizationParams(invocation),
    body: resource('organizations', attributes),
  })
  return printOrganization(invocation, data.data)
}

export async function runOrgDelete(invocation: CommandContext): Promise<number> {
  const [name = ''] = invocation.args
  await confirm(invocation, `Delete organization "${name}" with everything in it?`)
  await invocation.client.v2.deleteOrganization({ params: organizationParams(invocation) })
  invocation.output.printLine(`Organization "${name}" is deleted.`)
  return EXIT_CODES.ok
}

function organizationParams({ args }: CommandContext) {
  return { organization_name: args[0] ?? '' }
}

function settingsOf(invocation: CommandContext) {
  return omitUndefined({
    'require-override-comment': booleanFlag(invocation, 'require-override-comment'),
  })
}

function printOrganization(
  { output }: CommandContext,
  organization: Organization,
  showPermissions = false,
): number {
  const { id, attributes } = organization
  // After a create or update the list is omitted: the caller has all permissions.
  const permissions = showPermissions
    ? [['Permissions', enabledNames(attributes.permissions)] as const]
    : []
  output.print(organization, () =>
    renderFields([
      ['Name', id],
      ['Email', attributes.email],
      ['Created', attributes['created-at']],
      ['Overrides need a comment', attributes['require-override-comment'] ? 'yes' : 'no'],
      ...permissions,
    ]),
  )
  return EXIT_CODES.ok
}

/** A membership with the names of its user and teams. */
interface Member {
  readonly membership: v2.OrganizationMembership
  readonly username: string
  readonly teams: readonly string[]
}

/** `org member list`: lists members and pending invitations. */
export async function runOrgMemberList(invocation: CommandContext): Promise<number> {
  const { flags, host, output } = invocation
  const members = await listMembers(invocation, {
    q: flags.string('search'),
    'filter[status]': flags.oneOf('status', v2.MEMBERSHIP_STATUSES),
  })
  const rows = members.map(({ membership: { id, attributes }, username, teams }) => [
    attributes.email,
    username,
    output.paint(attributes.status === 'active' ? 'good' : 'warning', attributes.status),
    teams.join(', '),
    agoFromIso(attributes['created-at'], host.nowMs()),
    id,
  ])
  output.print(
    members.map(({ membership }) => membership),
    () =>
      rows.length === 0
        ? 'The member does not exist. Invite one with "reeve org member add EMAIL".'
        : renderTable(['Email', 'Username', 'Status', 'Teams', 'Since', 'ID'], rows),
  )
  return EXIT_CODES.ok
}

interface MemberQuery {
  readonly q?: string | undefined
  readonly 'filter[status]'?: (typeof v2.MEMBERSHIP_STATUSES)[number] | undefined
}

async function listMembers(
  invocation: CommandContext,
  query: MemberQuery,
): Promise<readonly Member[]> {
  const pages = invocation.client.eachPage('listOrganizationMemberships', {
    params: await resolveOrganization(invocation),
    query: { ...query, include: 'user,teams' },
  })
  const members: Member[] = []
  for await (const { data: page } of pages) {
    const users = new Map(
      includedResources(page, 'users').map((one) => [one.id, one.attributes.username]),
    )
    const teams = new Map(
      includedResources(page, 'teams').map((one) => [one.id, one.attributes.name]),
    )
    members.push(
      ...page.data.map((membership) => ({
        membership,
        username: users.get(membership.relationships.user.data?.id ?? '') ?? '',
        teams: membership.relationships.teams.data.map(({ id }) => teams.get(id) ?? id),
      })),
    )
  }
  return members
}

/** `org member add EMAIL`: invites a user by email. */
export async function runOrgMemberAdd(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const [email = ''] = args
  const params = await resolveOrganization(invocation)
  const teams = await Promise.all(
    flags.strings('team').map(async (team) => (await findTeam(invocation, team)).id),
  )
  const { data } = await client.v2.createOrganizationMembership({
    params,
    body: resource(
      'organization-memberships',
      { email },
      omitUndefined({ teams: teams.length === 0 ? undefined : toMany('teams', teams) }),
    ),
  })
  const { organization_name: name } = params
  output.print(data.data, () => `${email} is invited to organization "${name}".`)
  return EXIT_CODES.ok
}

/** `org member remove MEMBER`: by username or email. */
export async function runOrgMemberRemove(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const [input = ''] = args
  const found = (await listMembers(invocation, { q: input })).filter(
    ({ membership, username }) =>
      membership.attributes.email.toLowerCase() === input.toLowerCase() || username === input,
  )
  const { membership } = resolveOne({
    noun: 'member',
    input: input,
    matches: found,
    idOf: ({ username }) => username,
    describe: (one) => `${one.username}  ${one.membership.attributes.email}`,
    listCommand: 'reeve org member list',
  })
  const { organization_name: name } = await resolveOrganization(invocation)
  await confirm(invocation, `Take ${input} out of organization "${name}" and all its teams?`)
  const params = { organization_membership_id: membership.id }
  await client.v2.deleteOrganizationMembership({ params })
  output.printLine(`${input} no longer belongs to organization "${name}".`)
  return EXIT_CODES.ok
}

export async function runTeamList(invocation: CommandContext): Promise<number> {
  const params = await resolveOrganization(invocation)
  return await printList(invocation, invocation.client.pages('listTeams', { params }), {
    heading: ['Name', 'Users', 'Visibility', 'ID', 'May do everywhere'],
    row: ({ id, attributes }) => [
      attributes.name,
      String(attributes['users-count']),
      attributes.visibility,
      id,
      enabledNames(attributes['organization-access']),
    ],
    empty: 'There are no teams that this token may see.',
  })
}

export async function runTeamShow(invocation: CommandContext): Promise<number> {
  const { id } = await findTeam(invocation, invocation.args[0] ?? '')
  return await printTeam(invocation, id)
}

/** Prints the current team with its members. */
async function printTeam(invocation: CommandContext, teamId: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readTeam({
    params: { team_id: teamId },
    query: { include: 'users' },
  })
  const { attributes } = data.data
  const users = includedResources(data, 'users').map((user) => user.attributes.username)
  output.print(data, () =>
    renderNonEmptyFields([
      ['Name', attributes.name],
      ['ID', teamId],
      ['Visibility', attributes.visibility],
      ['May do everywhere', enabledNames(attributes['organization-access'])],
      ['Users', users.join(', ')],
    ]),
  )
  return EXIT_CODES.ok
}

export async function runTeamCreate(invocation: CommandContext): Promise<number> {
  const { args, client } = invocation
  const attributes = { name: args[0] ?? '', ...settingsOfTeam(invocation) }
  const { data } = await client.v2.createTeam({
    params: await resolveOrganization(invocation),
    body: resource('teams', attributes),
  })
  return await printTeam(invocation, data.data.id)
}

export async function runTeamUpdate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findTeam(invocation, args[0] ?? '')
  const attributes = omitUndefined({ name: flags.string('name'), ...settingsOfTeam(invocation) })
  await client.v2.updateTeam({ params: { team_id: id }, body: resource('teams', attributes) })
  return await printTeam(invocation, id)
}

function settingsOfTeam({ flags }: CommandContext) {
  const allowed = flags.strings('allow').map((word) => [parseAccess(word), true] as const)
  const denied = flags.strings('deny').map((word) => [parseAccess(word), false] as const)
  const changed = [...allowed, ...denied]
  return omitUndefined({
    visibility: flags.oneOf('visibility', v2.TEAM_VISIBILITIES),
    'organization-access': changed.length === 0 ? undefined : Object.fromEntries(changed),
  })
}

function parseAccess(word: string): v2.OrganizationAccess {
  const known = v2.ORGANIZATION_ACCESS.find((access) => access === word)
  if (known !== undefined) return known
  throw new UsageError(`"${word}" is none of ${v2.ORGANIZATION_ACCESS.join(', ')}.`)
}

export async function runTeamDelete(invocation: CommandContext): Promise<number> {
  const { id, attributes } = await findTeam(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete team "${attributes.name}" with its tokens?`)
  await invocation.client.v2.deleteTeam({ params: { team_id: id } })
  invocation.output.printLine(`Team "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}

export async function runTeamAddUser(invocation: CommandContext): Promise<number> {
  const [name = '', ...users] = invocation.args
  const { id } = await findTeam(invocation, name)
  const body = toMany('users', users)
  await invocation.client.v2.addTeamUsers({ params: { team_id: id }, body })
  return await printTeam(invocation, id)
}

export async function runTeamRemoveUser(invocation: CommandContext): Promise<number> {
  const [name = '', ...users] = invocation.args
  const { id } = await findTeam(invocation, name)
  const body = toMany('users', users)
  await invocation.client.v2.removeTeamUsers({ params: { team_id: id }, body })
  return await printTeam(invocation, id)
}

/** Fixed access levels. Custom permissions are set through the API only. */
const LEVELS = ['read', 'write', 'maintain', 'admin'] as const

export async function runTeamGrant(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const access = parseLevel(invocation.args[2] ?? '')
  const { team, project, existing } = await resolveTeamAndProject(invocation)
  const { data } =
    existing === undefined
      ? await client.v2.createTeamProjectAccess({
          body: resource(
            'team-projects',
            { access },
            { team: toOne('teams', team.id), project: toOne('projects', project.id) },
          ),
        })
      : await client.v2.updateTeamProjectAccess({
          params: { team_project_id: existing },
          body: resource('team-projects', { access }),
        })
  output.print(
    data,
    () => `Team "${team.name}" now has ${access} access to project "${project.name}".`,
  )
  return EXIT_CODES.ok
}

export async function runTeamRevoke(invocation: CommandContext): Promise<number> {
  const { team, project, existing } = await resolveTeamAndProject(invocation)
  const what = `access to project "${project.name}"`
  if (existing === undefined) {
    throw new CommandError(`Team "${team.name}" has no ${what} itself.`, {
      code: EXIT_CODES.missing,
      hint: 'It may have it through its rights in the organization: see "reeve team show".',
    })
  }
  await invocation.client.v2.deleteTeamProjectAccess({ params: { team_project_id: existing } })
  invocation.output.printLine(`Team "${team.name}" has no ${what} any more.`)
  return EXIT_CODES.ok
}

function parseLevel(word: string): (typeof LEVELS)[number] {
  const level = LEVELS.find((one) => one === word)
  if (level === undefined) throw new UsageError(`LEVEL is one of ${LEVELS.join(', ')}.`)
  return level
}

async function resolveTeamAndProject(invocation: CommandContext) {
  const [teamName = '', projectName = ''] = invocation.args
  const team = await findTeam(invocation, teamName)
  const project = await findProject(invocation, projectName)
  return {
    team: { id: team.id, name: team.attributes.name },
    project: { id: project.id, name: project.attributes.name },
    existing: await findAccessId(invocation, { teamId: team.id, projectId: project.id }),
  }
}

interface AccessKey {
  readonly teamId: string
  readonly projectId: string
}

async function findAccessId(
  { client }: CommandContext,
  { teamId, projectId }: AccessKey,
): Promise<string | undefined> {
  const query = { 'filter[project][id]': projectId }
  for await (const access of client.pages('listTeamProjectAccesses', { query })) {
    if (access.relationships.team.data.id === teamId) return access.id
  }
  return undefined
}
