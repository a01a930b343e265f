import type { NodeMeta, NodeRevocation } from '@reeve/contract'
import type { ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { readTextFile } from '../input.ts'
import { agoFromIso, renderFields, renderTable, shortenId } from '../output/format.ts'
import { resolveIdPrefix, formatId } from '../resolve.ts'
import { resolveNode } from './find-node.ts'

export async function runNodeEligibility(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const isEnabled = flags.has('enable')
  if (isEnabled === flags.has('disable')) {
    throw new UsageError('give one of --enable and --disable.')
  }
  const { ID, Name } = await resolveNode(invocation)
  const Eligibility = isEnabled ? 'eligible' : 'ineligible'
  await client.v1.setNodeEligibility({ params: { node_id: ID }, body: { Eligibility } })
  const takes = isEnabled ? 'takes new allocations' : 'takes no new allocations'
  output.printLine(`Node ${shortenId(ID)} (${Name}) is ${Eligibility}: it ${takes}.`)
  return EXIT_CODES.ok
}

export async function runNodePurge(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const { ID, Name, Status } = await resolveNode(invocation)
  await client.v1.purgeNode({ params: { node_id: ID } })
  output.printLine(`Node ${shortenId(ID)} (${Name}) is purged; its jobs are evaluated again.`)
  if (Status === 'ready')
    output.printNotice('Its agent still runs: it comes back when it registers again.')
  return EXIT_CODES.ok
}

/** `node meta read`: prints the metadata of a node with the source of each value. */
export async function runNodeMetaRead(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const { ID } = await resolveNode(invocation)
  const { data } = await client.v1.readNodeMeta({ query: { node_id: ID } })
  output.print(data, () => formatMeta(data))
  return EXIT_CODES.ok
}

/** `node meta apply`: sets and unsets metadata, which the node persists. */
export async function runNodeMetaApply(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const { node, changes } = parseMetaArguments(invocation)
  const unset = flags.strings('unset')
  const Meta = { ...changes, ...Object.fromEntries(unset.map((name) => [name, null])) }
  if (Object.keys(Meta).length === 0) {
    throw new UsageError('name what to change: KEY=VALUE, or --unset KEY.')
  }
  const { ID, Name } = await resolveNode({ ...invocation, args: node })
  const { data } = await client.v1.applyNodeMeta({
    query: { node_id: ID },
    body: { NodeID: ID, Meta },
  })
  const what = `The metadata of node ${shortenId(ID)} (${Name}) is updated.`
  output.print(data, () => `${what}\n\n${formatMeta(data)}`)
  return EXIT_CODES.ok
}

/** Separates `KEY=VALUE` arguments from the node. */
function parseMetaArguments({ args }: CommandContext): {
  readonly node: readonly string[]
  readonly changes: Readonly<Record<string, string>>
} {
  const node = args.filter((arg) => !arg.includes('='))
  if (node.length > 1) {
    throw new UsageError(`"${node[1] ?? ''}" is neither KEY=VALUE nor the only node.`)
  }
  const pairs = args
    .filter((arg) => arg.includes('='))
    .map((arg) => {
      const at = arg.indexOf('=')
      if (at === 0) throw new UsageError(`KEY=VALUE is needed, not "${arg}".`)
      return [arg.slice(0, at), arg.slice(at + 1)] as const
    })
  return { node, changes: Object.fromEntries(pairs) }
}

function formatMeta({ Meta, Dynamic, Static }: NodeMeta): string {
  const names = new Set([...Object.keys(Static), ...Object.keys(Dynamic)])
  if (names.size === 0) return 'The node has no metadata.'
  const rows = [...names].toSorted().map((name) => {
    const isSet = Object.hasOwn(Dynamic, name)
    return [name, Meta?.[name] ?? '(unset)', isSet ? 'request' : 'configuration']
  })
  return renderTable(['Key', 'Value', 'Source'], rows)
}

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
