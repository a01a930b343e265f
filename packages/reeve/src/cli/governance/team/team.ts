import { included } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { knownFields } from '../../output/known-fields.ts'
import { findTeam } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { onText, showList } from '../texts.ts'

export async function runTeamList(invocation: Invocation): Promise<number> {
  const params = await organizationOf(invocation)
  return await showList(invocation, invocation.client.pages('listTeams', { params }), {
    heading: ['Name', 'Users', 'Visibility', 'ID', 'May do everywhere'],
    row: ({ id, attributes }) => [
      attributes.name,
      String(attributes['users-count']),
      attributes.visibility,
      id,
      onText(attributes['organization-access']),
    ],
    empty: 'There are no teams that this token may see.',
  })
}

export async function runTeamShow(invocation: Invocation): Promise<number> {
  const { id } = await findTeam(invocation, invocation.args[0] ?? '')
  return await showTeam(invocation, id)
}

/** As it is now, with its members. */
export async function showTeam(invocation: Invocation, teamId: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readTeam({
    params: { team_id: teamId },
    query: { include: 'users' },
  })
  const { attributes } = data.data
  const users = included(data, 'users').map((user) => user.attributes.username)
  output.show(data, () =>
    knownFields([
      ['Name', attributes.name],
      ['ID', teamId],
      ['Visibility', attributes.visibility],
      ['May do everywhere', onText(attributes['organization-access'])],
      ['Users', users.join(', ')],
    ]),
  )
  return EXIT_CODES.ok
}
