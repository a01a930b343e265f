import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { idText } from '../find-id.ts'
import { table } from '../output/table.ts'
import { toneOf } from '../output/tone.ts'
import { chosenNode, type NodeStub } from './find-node.ts'
import { nodeText } from './node-text.ts'

export async function runNodeStatus(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation
  if (args.length === 0 && !flags.has('self')) await listNodes(invocation)
  else await showNode(invocation)
  return EXIT_CODES.ok
}

async function listNodes({ client, flags, output, signal }: Invocation): Promise<void> {
  const isVerbose = flags.has('verbose')
  const filter = flags.text('filter')
  const nodes: NodeStub[] = []
  for await (const node of client.pages('listNodes', { query: { filter }, signal }))
    nodes.push(node)
  output.show(nodes, () => {
    if (nodes.length === 0) return 'There are no nodes. "reeve agent --client" starts one.'
    const rows = nodes.map((node) => [
      idText(node.ID, isVerbose),
      node.Name,
      node.Datacenter,
      node.NodePool,
      node.NodeClass,
      node.Address,
      node.Drain ? output.paint('warning', 'draining') : '',
      output.paint(toneOf(node.SchedulingEligibility), node.SchedulingEligibility),
      output.paint(toneOf(node.Status), node.Status),
    ])
    const heading = ['ID', 'Name', 'Datacenter', 'Pool', 'Class', 'Address']
    return table([...heading, 'Drain', 'Eligibility', 'Status'], rows)
  })
}

async function showNode(invocation: Invocation): Promise<void> {
  const { client, flags, output } = invocation
  const { ID } = await chosenNode(invocation)
  const params = { node_id: ID }
  const { data: node } = await client.v1.readNode({ params })
  if (output.isForMachines) return output.show(node, () => '')
  const { data: allocations } = await client.v1.listNodeAllocations({ params })
  const usage = flags.has('stats')
    ? (await client.v1.readClientStats({ query: { node_id: ID } })).data
    : undefined
  output.show(node, () => nodeText({ node, allocations, usage }, invocation))
}
