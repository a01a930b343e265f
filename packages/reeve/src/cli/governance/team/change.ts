import { v2 } from '@reeve/contract'
import { resource, toMany } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { UsageError } from '../../failure.ts'
import { findTeam } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { omitUndefined } from '../texts.ts'
import { printTeam } from './team.ts'

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
