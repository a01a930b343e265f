import { resource } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { isoFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import { findTeam } from './find.ts'
import { resolveOrganization } from './flags.ts'
import { omitUndefined, printList } from './output.ts'

export async function runTokenList(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const tokens = flags.has('teams')
    ? client.pages('listTeamTokens', { params: await resolveOrganization(invocation) })
    : client.pages('listUserTokens', {
        params: { user_id: await currentUserId(invocation, LIST_HINT) },
      })
  return await printList(invocation, tokens, {
    heading: ['ID', 'Description', 'Created', 'Last used', 'Expires'],
    row: ({ id, attributes }) => [
      id,
      attributes.description ?? '',
      attributes['created-at'],
      attributes['last-used-at'] ?? 'never',
      attributes['expired-at'] ?? 'never',
    ],
    empty: 'There are no tokens. "reeve token create" creates one.',
  })
}

export async function runTokenCreate(invocation: CommandContext): Promise<number> {
  const { data } = await create(invocation)
  const { id, attributes } = data.data
  invocation.output.print(data, () => attributes.token)
  const until = attributes['expired-at'] ?? 'for ever'
  if (!invocation.output.isStructured) {
    invocation.output.printNotice(
      `Token ${id} is good until: ${until}. Its secret is not shown again.`,
    )
  }
  return EXIT_CODES.ok
}

async function create(invocation: CommandContext) {
  const { client, flags } = invocation
  const body = resource('authentication-tokens', attributesOf(invocation))
  const team = flags.string('team')
  if (team !== undefined) {
    const { id } = await findTeam(invocation, team)
    return await client.v2.createTeamToken({ params: { team_id: id }, body })
  }
  if (flags.has('org')) {
    return await client.v2.createOrganizationToken({
      params: await resolveOrganization(invocation),
      body,
    })
  }
  return await client.v2.createUserToken({
    params: { user_id: await currentUserId(invocation, CREATE_HINT) },
    body,
  })
}

function attributesOf({ flags, host }: CommandContext) {
  const ttl = flags.string('ttl')
  return omitUndefined({
    description: flags.string('description'),
    'expired-at': ttl === undefined ? undefined : parseExpiry(ttl, host.nowMs()),
  })
}

function parseExpiry(ttl: string, nowMs: number): string {
  const ms = parseDurationMs(ttl)
  if (ms === undefined || ms <= 0) {
    throw new UsageError(`--ttl needs a time such as 720h, not "${ttl}".`)
  }
  return isoFromMs(nowMs + ms)
}

const LIST_HINT = '--teams lists the tokens of the teams.'
const CREATE_HINT = '--team TEAM makes a token of a team, --org that of the organization.'

/** Returns the user ID of the token. Team, organization and server tokens have no user. */
async function currentUserId({ client }: CommandContext, instead: string): Promise<string> {
  const { id, attributes } = (await client.v2.readAccount()).data.data
  if (attributes.permissions['can-manage-user-tokens']) return id
  throw new CommandError('The token that asks is not that of a person, who may have others.', {
    code: EXIT_CODES.denied,
    hint: instead,
  })
}

export async function runTokenDelete(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const [tokenId] = args
  if (flags.has('org')) {
    await client.v2.deleteOrganizationToken({ params: await resolveOrganization(invocation) })
    output.printLine('The token of the organization is deleted.')
    return EXIT_CODES.ok
  }
  if (tokenId === undefined) throw new UsageError('Name a token, or give --org.')
  await client.v2.deleteAuthenticationToken({ params: { token_id: tokenId } })
  output.printLine(`Token ${tokenId} is deleted.`)
  return EXIT_CODES.ok
}
