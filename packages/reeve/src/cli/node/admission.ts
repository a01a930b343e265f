import type { NodeRevocation } from '@reeve/contract'
import type { ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import { resolveIdPrefix, formatId } from '../resolve.ts'
import { renderFields, shortenId, renderTable, agoFromIso } from '../output/format.ts'
import { readTextFile } from '../input.ts'
import { resolveNode } from './find-node.ts'

type JoinToken = ItemOf<'listNodeJoinTokens'>

export async function runJoinTokenCreate({
  client,
  flags,
  output,
}: CommandContext): Promise<number> {
  const TTL = flags.string('ttl') ?? ''
  const NodePool = flags.string('pool') ?? ''
  const NodeName = flags.string('name') ?? ''
  const { data } = await client.v1.createNodeJoinToken({ body: { TTL, NodePool, NodeName } })
  output.print(data, () =>
    renderFields([
      ['ID', data.ID],
      ['Secret', data.SecretID],
      ['Node name', data.NodeName || 'any'],
      ['Node pool', data.NodePool || 'any'],
      ['Expires', data.ExpiresAt],
    ]),
  )
  if (!output.isStructured) output.printNotice(SECRET_NOTICE)
  return EXIT_CODES.ok
}

const SECRET_NOTICE =
  'The secret is shown only once. Start the new node with it as REEVE_JOIN_TOKEN: it admits one ' +
  'node, once.'

export async function runJoinTokenList(invocation: CommandContext): Promise<number> {
  const { client, flags, host, output, signal } = invocation
  const tokens: JoinToken[] = []
  for await (const token of client.pages('listNodeJoinTokens', { query: {}, signal }))
    tokens.push(token)
  output.print(tokens, () => {
    if (tokens.length === 0)
      return 'There are no join tokens. "reeve node join-token create" creates one.'
    const rows = tokens.map((token) => [
      formatId(token.ID, flags.has('verbose')),
      token.NodeName || 'any',
      token.NodePool || 'any',
      agoFromIso(token.CreateTime, host.nowMs()),
      token.ExpiresAt,
      token.UsedBy === '' ? 'no' : `by ${formatId(token.UsedBy, flags.has('verbose'))}`,
    ])
    return renderTable(['ID', 'Node name', 'Node pool', 'Created', 'Expires', 'Used'], rows)
  })
  return EXIT_CODES.ok
}

export async function runJoinTokenRevoke(invocation: CommandContext): Promise<number> {
  const { args, client, output, signal } = invocation
  const { ID, UsedBy } = await resolveIdPrefix({
    noun: 'join token',
    input: args[0] ?? '',
    listCommand: 'reeve node join-token list',
    search: (prefix) => client.pages('listNodeJoinTokens', { query: { prefix }, signal }),
    describe: ({ NodeName, NodePool }) => `${NodeName || 'any name'}, ${NodePool || 'any pool'}`,
  })
  await client.v1.deleteNodeJoinToken({ params: { token_id: ID } })
  output.printLine(`Join token ${shortenId(ID)} is revoked.`)
  if (UsedBy !== '')
    output.printNotice(
      `Node ${shortenId(UsedBy)} joined with it and stays: "reeve node revoke" shuts it out.`,
    )
  return EXIT_CODES.ok
}

export async function runJoinTokenRotateShared(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const [path] = args
  const SecretID = path === undefined ? '' : (await readTextFile(invocation, path)).trim()
  const { data } = await client.v1.rotateSharedJoinToken({ body: { SecretID } })
  output.print(data, () => renderFields([['Secret', data.SecretID]]))
  if (output.isStructured) return EXIT_CODES.ok
  output.printNotice(
    'The secret is shown only once. The shared token before it admits no new nodes.',
  )
  if (!data.IsEnabled)
    output.printNotice('No server admits nodes with it: server.shared_join_token is false.')
  return EXIT_CODES.ok
}

export async function runNodeRevoke(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const { ID, Name } = await resolveNode(invocation)
  const Reason = flags.string('reason') ?? ''
  await client.v1.revokeNode({ params: { node_id: ID }, body: { Reason } })
  output.printLine(`Node ${shortenId(ID)} (${Name}) is revoked: its allocations are replaced.`)
  output.printNotice(
    'If the machine knows the shared join token, it can join as a new node: rotate that token ' +
      'with "reeve node join-token rotate-shared".',
  )
  return EXIT_CODES.ok
}

export async function runNodeRevocations(invocation: CommandContext): Promise<number> {
  const { client, flags, host, output, signal } = invocation
  const found: NodeRevocation[] = []
  for await (const one of client.pages('listNodeRevocations', { query: {}, signal }))
    found.push(one)
  output.print(found, () => {
    if (found.length === 0) return 'No node is revoked.'
    const rows = found.map(({ NodeID, NodeName, RevokeTime, Reason }) => [
      formatId(NodeID, flags.has('verbose')),
      NodeName,
      agoFromIso(RevokeTime, host.nowMs()),
      Reason,
    ])
    return renderTable(['Node', 'Name', 'Revoked', 'Reason'], rows)
  })
  return EXIT_CODES.ok
}

export async function runNodeUnrevoke(invocation: CommandContext): Promise<number> {
  const { args, client, output, signal } = invocation
  const withId = async function* (prefix: string) {
    for await (const one of client.pages('listNodeRevocations', { query: { prefix }, signal }))
      yield { ...one, ID: one.NodeID }
  }
  const { NodeID, NodeName } = await resolveIdPrefix({
    noun: 'revoked node',
    input: args[0] ?? '',
    listCommand: 'reeve node revocations',
    search: withId,
    describe: ({ NodeName: name }) => name,
  })
  await client.v1.unrevokeNode({ params: { node_id: NodeID } })
  output.printLine(`Node ${shortenId(NodeID)} (${NodeName}) is no longer revoked.`)
  output.printNotice(
    'It connects with its own secret; if it was purged meanwhile, with a join token.',
  )
  return EXIT_CODES.ok
}

export async function runNodeRotateSecret(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const { ID, Name } = await resolveNode(invocation)
  const { data } = await client.v1.rotateNodeSecret({ params: { node_id: ID } })
  const node = `Node ${shortenId(ID)} (${Name})`
  if (data.Status === 'rotated')
    output.printLine(`${node} has a new secret; the old one is invalid.`)
  else output.printLine(`${node} has not confirmed a new secret yet: it gets one when it connects.`)
  return EXIT_CODES.ok
}
