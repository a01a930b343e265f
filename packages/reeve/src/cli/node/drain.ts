import { nsFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { Flags } from '../flags.ts'
import { shortId } from '../output/table.ts'
import { watchDrain } from './drain-watch.ts'
import { chosenNode, type NodeStub } from './find-node.ts'

const DEADLINE_DEFAULT = '1h'
/** A deadline below 0 stops the rest at once. */
const AT_ONCE_NS = -1
const NEVER_NS = 0

/** Moves the allocations off a node, and stays until they have left. */
export async function runNodeDrain(invocation: Invocation): Promise<number> {
  const { flags, output } = invocation
  const action = actionOf(flags)
  const deadlineNs = deadlineOf(flags)
  const node = await chosenNode(invocation)
  if (action === 'disable') {
    await endDrain(invocation, node)
    return EXIT_CODES.ok
  }
  if (action === 'enable') await beginDrain(invocation, node, deadlineNs)
  if (flags.has('detach')) {
    output.note(`Watch it with "reeve node drain --monitor ${shortId(node.ID)}".`)
    return EXIT_CODES.ok
  }
  return await watchDrain(invocation, node)
}

const ACTIONS = ['enable', 'disable', 'monitor'] as const

function actionOf(flags: Flags): (typeof ACTIONS)[number] {
  const given = ACTIONS.filter((action) => flags.has(action))
  const [only] = given
  if (only !== undefined && given.length === 1) return only
  throw new UsageError('give one of --enable, --disable and --monitor.')
}

function deadlineOf(flags: Flags): number {
  const text = flags.text('deadline')
  const isOff = flags.isOff('deadline')
  if ([text !== undefined, isOff, flags.has('force')].filter(Boolean).length > 1) {
    throw new UsageError('give only one of --deadline, --no-deadline and --force.')
  }
  if (flags.has('force')) return AT_ONCE_NS
  if (isOff) return NEVER_NS
  const ms = parseDurationMs(text ?? DEADLINE_DEFAULT)
  if (ms === undefined || ms <= 0) {
    throw new UsageError(`--deadline is a duration such as 30m, not "${text ?? ''}".`)
  }
  return nsFromMs(ms)
}

async function beginDrain(invocation: Invocation, node: NodeStub, Deadline: number): Promise<void> {
  const { client, flags, output } = invocation
  const message = flags.text('message')
  const Meta = { ...flags.pairs('meta'), ...(message === undefined ? {} : { message }) }
  await client.v1.drainNode({
    params: { node_id: node.ID },
    body: { DrainSpec: { Deadline, IgnoreSystemJobs: flags.has('ignore-system') }, Meta },
  })
  output.say(`Node ${shortId(node.ID)} (${node.Name}) is draining and takes no new allocations.`)
}

async function endDrain({ client, flags, output }: Invocation, node: NodeStub): Promise<void> {
  const MarkEligible = !flags.has('keep-ineligible')
  const body = { DrainSpec: null, MarkEligible, Meta: flags.pairs('meta') }
  await client.v1.drainNode({ params: { node_id: node.ID }, body })
  const takes = MarkEligible ? 'takes new allocations' : 'still takes no new allocations'
  output.say(`Node ${shortId(node.ID)} (${node.Name}) is no longer draining and ${takes}.`)
}
