import type { NodeMeta } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { shortId, table } from '../output/table.ts'
import { chosenNode } from './find-node.ts'

/** `node meta read`: the metadata that constraints see, and where each value comes from. */
export async function runNodeMetaRead(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const { ID } = await chosenNode(invocation)
  const { data } = await client.v1.readNodeMeta({ query: { node_id: ID } })
  output.show(data, () => metaText(data))
  return EXIT_CODES.ok
}

/** `node meta apply`: sets and unsets values, which the node keeps when it starts again. */
export async function runNodeMetaApply(invocation: Invocation): Promise<number> {
  const { client, flags, output } = invocation
  const { node, changes } = wishOf(invocation)
  const unset = flags.texts('unset')
  const Meta = { ...changes, ...Object.fromEntries(unset.map((name) => [name, null])) }
  if (Object.keys(Meta).length === 0) {
    throw new UsageError('name what to change: KEY=VALUE, or --unset KEY.')
  }
  const { ID, Name } = await chosenNode({ ...invocation, args: node })
  const { data } = await client.v1.applyNodeMeta({
    query: { node_id: ID },
    body: { NodeID: ID, Meta },
  })
  const what = `The metadata of node ${shortId(ID)} (${Name}) is updated.`
  output.show(data, () => `${what}\n\n${metaText(data)}`)
  return EXIT_CODES.ok
}

/** Operands with an equals sign are values, the other one is the node. */
function wishOf({ args }: Invocation): {
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

function metaText({ Meta, Dynamic, Static }: NodeMeta): string {
  const names = new Set([...Object.keys(Static), ...Object.keys(Dynamic)])
  if (names.size === 0) return 'The node has no metadata.'
  const rows = [...names].toSorted().map((name) => {
    const isSet = Object.hasOwn(Dynamic, name)
    return [name, Meta?.[name] ?? '(unset)', isSet ? 'request' : 'configuration']
  })
  return table(['Key', 'Value', 'Source'], rows)
}
