import { ApiError } from '@reeve/sdk'
import { formatAllocation } from '../alloc/allocation-text.ts'
import type { CommandContext } from '../command.ts'
import { formatNode } from '../node/node-text.ts'
import type { ClusterView } from './cluster.ts'

/** Reads the details of a node or allocation, as in `node status` and `alloc status`. */
export async function readDetails(
  invocation: CommandContext,
  { Nodes, Allocations }: ClusterView,
  id: string,
): Promise<readonly string[]> {
  try {
    if (Nodes.some(({ ID }) => ID === id)) return splitLines(await nodeDetails(invocation, id))
    const one = Allocations.find(({ ID }) => ID === id)
    if (one === undefined) return ['It is no longer there.']
    return splitLines(await allocationDetails(invocation, one))
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    return [thrown.text.trim() || thrown.message]
  }
}

async function nodeDetails(invocation: CommandContext, id: string): Promise<string> {
  const { client, signal } = invocation
  const params = { node_id: id }
  const [{ data: node }, { data: allocations }] = await Promise.all([
    client.v1.readNode({ params, signal }),
    client.v1.listNodeAllocations({ params, signal }),
  ])
  return formatNode({ node, allocations, usage: undefined }, invocation)
}

async function allocationDetails(
  invocation: CommandContext,
  { ID, Namespace }: { readonly ID: string; readonly Namespace: string },
): Promise<string> {
  const { client, signal } = invocation
  const query = { namespace: Namespace }
  const { data } = await client.v1.readAllocation({ params: { alloc_id: ID }, query, signal })
  return formatAllocation(data, undefined, invocation)
}

function splitLines(text: string): readonly string[] {
  return text.trimEnd().split('\n')
}
