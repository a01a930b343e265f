import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { formatId } from '../find-id.ts'
import { renderTable } from '../output/table.ts'
import { statusStyle } from '../output/tone.ts'
import { resolveNode, type NodeStub } from './find-node.ts'
import { formatNode } from './node-text.ts'

export async function runNodeStatus(invocation: CommandContext): Promise<number> {
  const { args, flags } = invocation
  if (args.length === 0 && !flags.has('self')) await listNodes(invocation)
  else await showNode(invocation)
  return EXIT_CODES.ok
}

async function listNodes({ client, flags, output, signal }: CommandContext): Promise<void> {
  const isVerbose = flags.has('verbose')
  const filter = flags.string('filter')
  const nodes: NodeStub[] = []
  for await (const node of client.pages('listNodes', { query: { filter }, signal }))
    nodes.push(node)
  output.print(nodes, () => {
    if (nodes.length === 0) return 'There are no nodes. "reeve agent --client" starts one.'
    const rows = nodes.map((node) => [
      formatId(node.ID, isVerbose),
      node.Name,
      node.Datacenter,
      node.NodePool,
      node.NodeClass,
      node.Address,
      node.Drain ? output.paint('warning', 'draining') : '',
      output.paint(statusStyle(node.SchedulingEligibility), node.SchedulingEligibility),
      output.paint(statusStyle(node.Status), node.Status),
    ])
    const heading = ['ID', 'Name', 'Datacenter', 'Pool', 'Class', 'Address']
    return renderTable([...heading, 'Drain', 'Eligibility', 'Status'], rows)
  })
}

async function showNode(invocation: CommandContext): Promise<void> {
  const { client, flags, output } = invocation
  const { ID } = await resolveNode(invocation)
  const params = { node_id: ID }
  const { data: node } = await client.v1.readNode({ params })
  if (output.isStructured) return output.print(node, () => '')
  const { data: allocations } = await client.v1.listNodeAllocations({ params })
  const usage = flags.has('stats')
    ? (await client.v1.readClientStats({ query: { node_id: ID } })).data
    : undefined
  output.print(node, () => formatNode({ node, allocations, usage }, invocation))
}
