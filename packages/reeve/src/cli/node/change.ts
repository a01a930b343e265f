import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { shortId } from '../output/table.ts'
import { chosenNode } from './find-node.ts'

export async function runNodeEligibility(invocation: Invocation): Promise<number> {
  const { client, flags, output } = invocation
  const isEnabled = flags.has('enable')
  if (isEnabled === flags.has('disable')) {
    throw new UsageError('give one of --enable and --disable.')
  }
  const { ID, Name } = await chosenNode(invocation)
  const Eligibility = isEnabled ? 'eligible' : 'ineligible'
  await client.v1.setNodeEligibility({ params: { node_id: ID }, body: { Eligibility } })
  const takes = isEnabled ? 'takes new allocations' : 'takes no new allocations'
  output.say(`Node ${shortId(ID)} (${Name}) is ${Eligibility}: it ${takes}.`)
  return EXIT_CODES.ok
}

export async function runNodePurge(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const { ID, Name, Status } = await chosenNode(invocation)
  await client.v1.purgeNode({ params: { node_id: ID } })
  output.say(`Node ${shortId(ID)} (${Name}) is purged; its jobs are evaluated again.`)
  if (Status === 'ready')
    output.note('Its agent still runs: it comes back when it registers again.')
  return EXIT_CODES.ok
}
