import { resource } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { CommandFailure, UsageError } from '../../failure.ts'
import { isoFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import { findTeam } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { given, showList } from '../texts.ts'

export async function runTokenList(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const tokens = flags.has('teams')
    ? client.pages('listTeamTokens', { params: await organizationOf(invocation) })
    : client.pages('listUserTokens', { params: { user_id: await ownId(invocation, LIST_INSTEAD) } })
  return await showList(invocation, tokens, {
    heading: ['ID', 'Description', 'Created', 'Last used', 'Expires'],
    row: ({ id, attributes }) => [
      id,
      attributes.description ?? '',
      attributes['created-at'],
      attributes['last-used-at'] ?? 'never',
      attributes['expired-at'] ?? 'never',
    ],
    empty: 'There are no tokens. "reeve token create" makes one.',
  })
}

export async function runTokenCreate(invocation: Invocation): Promise<number> {
  const { data } = await create(invocation)
  const { id, attributes } = data.data
  invocation.output.show(data, () => attributes.token)
  const until = attributes['expired-at'] ?? 'for ever'
  if (!invocation.output.isForMachines) {
    invocation.output.note(`Token ${id} is good until: ${until}. Its secret is not shown again.`)
  }
  return EXIT_CODES.ok
}

async function create(invocation: Invocation) {
  const { client, flags } = invocation
  const body = resource('authentication-tokens', attributesOf(invocation))
  const team = flags.text('team')
  if (team !== undefined) {
    const { id } = await findTeam(invocation, team)
    return await client.v2.createTeamToken({ params: { team_id: id }, body })
  }
  if (flags.has('org')) {
    return await client.v2.createOrganizationToken({
      params: await organizationOf(invocation),
      body,
    })
  }
  return await client.v2.createUserToken({
    params: { user_id: await ownId(invocation, CREATE_INSTEAD) },
    body,
  })
}

function attributesOf({ flags, host }: Invocation) {
  const ttl = flags.text('ttl')
  return given({
    description: flags.text('description'),
    'expired-at': ttl === undefined ? undefined : expiry(ttl, host.nowMs()),
  })
}

function expiry(ttl: string, nowMs: number): string {
  const ms = parseDurationMs(ttl)
  if (ms === undefined || ms <= 0) {
    throw new UsageError(`--ttl needs a time such as 720h, not "${ttl}".`)
  }
  return isoFromMs(nowMs + ms)
}

const LIST_INSTEAD = '--teams lists the tokens of the teams.'
const CREATE_INSTEAD = '--team TEAM makes a token of a team, --org that of the organization.'

/** Only people have tokens of their own; servers, teams and organizations are none. */
async function ownId({ client }: Invocation, instead: string): Promise<string> {
  const { id, attributes } = (await client.v2.readAccount()).data.data
  if (attributes.permissions['can-manage-user-tokens']) return id
  throw new CommandFailure('The token that asks is not that of a person, who may have others.', {
    code: EXIT_CODES.denied,
    hint: instead,
  })
}

export async function runTokenDelete(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const [tokenId] = args
  if (flags.has('org')) {
    await client.v2.deleteOrganizationToken({ params: await organizationOf(invocation) })
    output.say('The token of the organization is deleted.')
    return EXIT_CODES.ok
  }
  if (tokenId === undefined) throw new UsageError('Name a token, or give --org.')
  await client.v2.deleteAuthenticationToken({ params: { token_id: tokenId } })
  output.say(`Token ${tokenId} is deleted.`)
  return EXIT_CODES.ok
}
