import type { NodeMeta } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { renderTable, shortenId } from '../output/format.ts'
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
