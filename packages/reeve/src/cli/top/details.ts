import { ApiError } from '@reeve/sdk'
import { allocationText } from '../alloc/allocation-text.ts'
import type { Invocation } from '../command.ts'
import { nodeText } from '../node/node-text.ts'
import type { Cluster } from './cluster.ts'

/** Everything about one node or allocation, as `node status` and `alloc status` tell it. */
export async function detailLines(
  invocation: Invocation,
  { Nodes, Allocations }: Cluster,
  id: string,
): Promise<readonly string[]> {
  try {
    if (Nodes.some(({ ID }) => ID === id)) return linesOf(await nodeDetails(invocation, id))
    const one = Allocations.find(({ ID }) => ID === id)
    if (one === undefined) return ['It is no longer there.']
    return linesOf(await allocationDetails(invocation, one))
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    return [thrown.text.trim() || thrown.message]
  }
}

async function nodeDetails(invocation: Invocation, id: string): Promise<string> {
  const { client, signal } = invocation
  const params = { node_id: id }
  const [{ data: node }, { data: allocations }] = await Promise.all([
    client.v1.readNode({ params, signal }),
    client.v1.listNodeAllocations({ params, signal }),
  ])
  return nodeText({ node, allocations, usage: undefined }, invocation)
}

async function allocationDetails(
  invocation: Invocation,
  { ID, Namespace }: { readonly ID: string; readonly Namespace: string },
): Promise<string> {
  const { client, signal } = invocation
  const query = { namespace: Namespace }
  const { data } = await client.v1.readAllocation({ params: { alloc_id: ID }, query, signal })
  return allocationText(data, undefined, invocation)
}

function linesOf(text: string): readonly string[] {
  return text.trimEnd().split('\n')
}
