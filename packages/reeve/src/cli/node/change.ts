import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { shortenId } from '../output/table.ts'
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
