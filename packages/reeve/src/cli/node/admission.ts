import type { NodeRevocation } from '@reeve/contract'
import type { ItemOf } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { findById, idText } from '../find-id.ts'
import { fields, shortId, table } from '../output/table.ts'
import { agoFromIso } from '../output/time.ts'
import { fileText } from '../spec-file/file-text.ts'
import { chosenNode } from './find-node.ts'

type JoinToken = ItemOf<'listNodeJoinTokens'>

export async function runJoinTokenCreate({ client, flags, output }: Invocation): Promise<number> {
  const TTL = flags.text('ttl') ?? ''
  const NodePool = flags.text('pool') ?? ''
  const NodeName = flags.text('name') ?? ''
  const { data } = await client.v1.createNodeJoinToken({ body: { TTL, NodePool, NodeName } })
  output.show(data, () =>
    fields([
      ['ID', data.ID],
      ['Secret', data.SecretID],
      ['Node name', data.NodeName || 'any'],
      ['Node pool', data.NodePool || 'any'],
      ['Expires', data.ExpiresAt],
    ]),
  )
  if (!output.isForMachines) output.note(GIVE_IT)
  return EXIT_CODES.ok
}

const GIVE_IT =
  'The secret is shown only once. Start the new node with it as REEVE_JOIN_TOKEN: it admits one ' +
  'node, once.'

export async function runJoinTokenList(invocation: Invocation): Promise<number> {
  const { client, flags, host, output, signal } = invocation
  const tokens: JoinToken[] = []
  for await (const token of client.pages('listNodeJoinTokens', { query: {}, signal }))
    tokens.push(token)
  output.show(tokens, () => {
    if (tokens.length === 0)
      return 'There are no join tokens. "reeve node join-token create" creates one.'
    const rows = tokens.map((token) => [
      idText(token.ID, flags.has('verbose')),
      token.NodeName || 'any',
      token.NodePool || 'any',
      agoFromIso(token.CreateTime, host.nowMs()),
      token.ExpiresAt,
      token.UsedBy === '' ? 'no' : `by ${idText(token.UsedBy, flags.has('verbose'))}`,
    ])
    return table(['ID', 'Node name', 'Node pool', 'Created', 'Expires', 'Used'], rows)
  })
  return EXIT_CODES.ok
}

export async function runJoinTokenRevoke(invocation: Invocation): Promise<number> {
  const { args, client, output, signal } = invocation
  const { ID, UsedBy } = await findById({
    noun: 'join token',
    given: args[0] ?? '',
    lists: 'reeve node join-token list',
    search: (prefix) => client.pages('listNodeJoinTokens', { query: { prefix }, signal }),
    describe: ({ NodeName, NodePool }) => `${NodeName || 'any name'}, ${NodePool || 'any pool'}`,
  })
  await client.v1.deleteNodeJoinToken({ params: { token_id: ID } })
  output.say(`Join token ${shortId(ID)} is revoked.`)
  if (UsedBy !== '')
    output.note(
      `Node ${shortId(UsedBy)} joined with it and stays: "reeve node revoke" shuts it out.`,
    )
  return EXIT_CODES.ok
}

export async function runJoinTokenRotateShared(invocation: Invocation): Promise<number> {
  const { args, client, output } = invocation
  const [path] = args
  const SecretID = path === undefined ? '' : (await fileText(invocation, path)).trim()
  const { data } = await client.v1.rotateSharedJoinToken({ body: { SecretID } })
  output.show(data, () => fields([['Secret', data.SecretID]]))
  if (output.isForMachines) return EXIT_CODES.ok
  output.note('The secret is shown only once. The shared token before it admits no new nodes.')
  if (!data.IsEnabled)
    output.note('No server admits nodes with it: server.shared_join_token is false.')
  return EXIT_CODES.ok
}

export async function runNodeRevoke(invocation: Invocation): Promise<number> {
  const { client, flags, output } = invocation
  const { ID, Name } = await chosenNode(invocation)
  const Reason = flags.text('reason') ?? ''
  await client.v1.revokeNode({ params: { node_id: ID }, body: { Reason } })
  output.say(`Node ${shortId(ID)} (${Name}) is revoked: its allocations are replaced.`)
  output.note(
    'If the machine knows the shared join token, it can join as a new node: rotate that token ' +
      'with "reeve node join-token rotate-shared".',
  )
  return EXIT_CODES.ok
}

export async function runNodeRevocations(invocation: Invocation): Promise<number> {
  const { client, flags, host, output, signal } = invocation
  const found: NodeRevocation[] = []
  for await (const one of client.pages('listNodeRevocations', { query: {}, signal }))
    found.push(one)
  output.show(found, () => {
    if (found.length === 0) return 'No node is revoked.'
    const rows = found.map(({ NodeID, NodeName, RevokeTime, Reason }) => [
      idText(NodeID, flags.has('verbose')),
      NodeName,
      agoFromIso(RevokeTime, host.nowMs()),
      Reason,
    ])
    return table(['Node', 'Name', 'Revoked', 'Reason'], rows)
  })
  return EXIT_CODES.ok
}

export async function runNodeUnrevoke(invocation: Invocation): Promise<number> {
  const { args, client, output, signal } = invocation
  const withId = async function* (prefix: string) {
    for await (const one of client.pages('listNodeRevocations', { query: { prefix }, signal }))
      yield { ...one, ID: one.NodeID }
  }
  const { NodeID, NodeName } = await findById({
    noun: 'revoked node',
    given: args[0] ?? '',
    lists: 'reeve node revocations',
    search: withId,
    describe: ({ NodeName: name }) => name,
  })
  await client.v1.unrevokeNode({ params: { node_id: NodeID } })
  output.say(`Node ${shortId(NodeID)} (${NodeName}) is no longer revoked.`)
  output.note('It connects with its own secret; if it was purged meanwhile, with a join token.')
  return EXIT_CODES.ok
}

export async function runNodeRotateSecret(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const { ID, Name } = await chosenNode(invocation)
  const { data } = await client.v1.rotateNodeSecret({ params: { node_id: ID } })
  const node = `Node ${shortId(ID)} (${Name})`
  if (data.Status === 'rotated') output.say(`${node} has a new secret; the old one is invalid.`)
  else output.say(`${node} has not confirmed a new secret yet: it gets one when it connects.`)
  return EXIT_CODES.ok
}
