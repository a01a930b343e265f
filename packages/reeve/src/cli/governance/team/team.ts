import { includedResources } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { renderNonEmptyFields } from '../../output/known-fields.ts'
import { findTeam } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { enabledNames, printList } from '../texts.ts'

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
export async function printTeam(invocation: CommandContext, teamId: string): Promise<number> {
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
