import { v2 } from '@reeve/contract'
import { includedResources, resource, toMany, toOne } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { renderNonEmptyFields } from '../output/format.ts'
import { findProject, findTeam } from './find.ts'
import { resolveOrganization } from './flags.ts'
import { enabledNames, omitUndefined, printList } from './output.ts'

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
  const attributes = { name: args[0] ?? '', ...settingsOf(invocation) }
  const { data } = await client.v2.createTeam({
    params: await resolveOrganization(invocation),
    body: resource('teams', attributes),
  })
  return await printTeam(invocation, data.data.id)
}

export async function runTeamUpdate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findTeam(invocation, args[0] ?? '')
  const attributes = omitUndefined({ name: flags.string('name'), ...settingsOf(invocation) })
  await client.v2.updateTeam({ params: { team_id: id }, body: resource('teams', attributes) })
  return await printTeam(invocation, id)
}

function settingsOf({ flags }: CommandContext) {
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
