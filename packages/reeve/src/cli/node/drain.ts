import { nsFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { Flags } from '../flags.ts'
import { shortenId } from '../output/table.ts'
import { watchDrain } from './drain-watch.ts'
import { resolveNode, type NodeStub } from './find-node.ts'

const DEFAULT_DEADLINE = '1h'
/** A negative deadline stops all allocations at once. */
const FORCE_DEADLINE_NS = -1
const NO_DEADLINE_NS = 0

/** `node drain`: drains a node and monitors the drain. */
export async function runNodeDrain(invocation: CommandContext): Promise<number> {
  const { flags, output } = invocation
  const action = parseAction(flags)
  const deadlineNs = parseDeadline(flags)
  const node = await resolveNode(invocation)
  if (action === 'disable') {
    await stopDrain(invocation, node)
    return EXIT_CODES.ok
  }
  if (action === 'enable') await startDrain(invocation, node, deadlineNs)
  if (flags.has('detach')) {
    output.printNotice(`Watch it with "reeve node drain --monitor ${shortenId(node.ID)}".`)
    return EXIT_CODES.ok
  }
  return await watchDrain(invocation, node)
}

const ACTIONS = ['enable', 'disable', 'monitor'] as const

function parseAction(flags: Flags): (typeof ACTIONS)[number] {
  const given = ACTIONS.filter((action) => flags.has(action))
  const [only] = given
  if (only !== undefined && given.length === 1) return only
  throw new UsageError('give one of --enable, --disable and --monitor.')
}

function parseDeadline(flags: Flags): number {
  const text = flags.string('deadline')
  const isOff = flags.isNegated('deadline')
  if ([text !== undefined, isOff, flags.has('force')].filter(Boolean).length > 1) {
    throw new UsageError('give only one of --deadline, --no-deadline and --force.')
  }
  if (flags.has('force')) return FORCE_DEADLINE_NS
  if (isOff) return NO_DEADLINE_NS
  const ms = parseDurationMs(text ?? DEFAULT_DEADLINE)
  if (ms === undefined || ms <= 0) {
    throw new UsageError(`--deadline is a duration such as 30m, not "${text ?? ''}".`)
  }
  return nsFromMs(ms)
}

async function startDrain(
  invocation: CommandContext,
  node: NodeStub,
  Deadline: number,
): Promise<void> {
  const { client, flags, output } = invocation
  const message = flags.string('message')
  const Meta = { ...flags.keyValues('meta'), ...(message === undefined ? {} : { message }) }
  await client.v1.drainNode({
    params: { node_id: node.ID },
    body: { DrainSpec: { Deadline, IgnoreSystemJobs: flags.has('ignore-system') }, Meta },
  })
  output.printLine(
    `Node ${shortenId(node.ID)} (${node.Name}) is draining and takes no new allocations.`,
  )
}

async function stopDrain({ client, flags, output }: CommandContext, node: NodeStub): Promise<void> {
  const MarkEligible = !flags.has('keep-ineligible')
  const body = { DrainSpec: null, MarkEligible, Meta: flags.keyValues('meta') }
  await client.v1.drainNode({ params: { node_id: node.ID }, body })
  const takes = MarkEligible ? 'takes new allocations' : 'still takes no new allocations'
  output.printLine(`Node ${shortenId(node.ID)} (${node.Name}) is no longer draining and ${takes}.`)
}
