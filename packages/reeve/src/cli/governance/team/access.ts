import { resource, toOne } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { CommandError, UsageError } from '../../failure.ts'
import { findProject, findTeam } from '../find.ts'

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
