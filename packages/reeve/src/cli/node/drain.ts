import type { Allocation, Node } from '@reeve/contract'
import { nsFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import type { Flags } from '../flags.ts'
import { shortenId } from '../output/format.ts'
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

/** Reports allocations that leave the node until the drain has ended; returns the exit code. */
export async function watchDrain(invocation: CommandContext, { ID }: NodeStub): Promise<number> {
  const ended = new AbortController()
  const signal = AbortSignal.any([invocation.signal, ended.signal])
  const report = createReporter(invocation)
  // The drain can be monitored without the permission to read allocations.
  const leaving = reportChanges({ invocation, nodeId: ID, report }, signal).catch(() => undefined)
  try {
    const node = await waitForDrainEnd(invocation, ID, signal)
    ended.abort()
    await leaving
    // The last allocation may have terminated at the same time: it is reported before the end of
    // the drain.
    await reportOnce({ invocation, nodeId: ID, report }).catch(() => undefined)
    return reportEnd(invocation, node)
  } catch (thrown) {
    if (!invocation.signal.aborted) throw thrown
    const again = `reeve node drain --monitor ${shortenId(ID)}`
    invocation.output.printNotice(`The drain continues. To watch it again:\n\n  ${again}`)
    return EXIT_CODES.interrupted
  } finally {
    ended.abort()
  }
}

async function waitForDrainEnd({ client }: CommandContext, nodeId: string, signal: AbortSignal) {
  const request = { params: { node_id: nodeId }, signal }
  for await (const { data } of client.blocking('readNode', request)) {
    if (data.DrainStrategy === null) return data
  }
  throw signal.reason
}

function reportEnd({ output }: CommandContext, { ID, Name, LastDrain }: Node): number {
  const node = `node ${shortenId(ID)} (${Name})`
  switch (LastDrain?.Status) {
    case 'complete':
      output.printLine(`The drain of ${node} is complete.`)
      return EXIT_CODES.ok
    case 'canceled':
      output.printNotice(`The drain of ${node} was canceled.`)
      return EXIT_CODES.failed
    case 'draining':
    case undefined:
      output.printLine(`${node[0]?.toUpperCase() ?? ''}${node.slice(1)} is not draining.`)
      return EXIT_CODES.ok
  }
}

type ReportAllocations = (allocations: readonly Allocation[]) => void

interface DrainReport {
  readonly invocation: CommandContext
  readonly nodeId: string
  readonly report: ReportAllocations
}

async function reportChanges(telling: DrainReport, signal: AbortSignal): Promise<void> {
  const { invocation, nodeId, report } = telling
  const request = { params: { node_id: nodeId }, signal }
  for await (const { data } of invocation.client.blocking('listNodeAllocations', request))
    report(data)
}

async function reportOnce({ invocation, nodeId, report }: DrainReport): Promise<void> {
  const { client, signal } = invocation
  report((await client.v1.listNodeAllocations({ params: { node_id: nodeId }, signal })).data)
}

/** Creates a function that reports changed allocations. */
function createReporter({ output }: CommandContext): ReportAllocations {
  const reported = new Map<string, string>()
  return (allocations) => {
    for (const allocation of allocations) {
      const now = drainStep(allocation)
      const before = reported.get(allocation.ID)
      reported.set(allocation.ID, now)
      // Allocations that had terminated before are not reported.
      if (now === before || (before === undefined && now !== DRAINING_TEXT)) continue
      output.printLine(`Allocation ${shortenId(allocation.ID)} (${allocation.Name}) ${now}.`)
    }
  }
}

const DRAINING_TEXT = 'is leaving'

function drainStep({ ClientStatus, DesiredStatus, DesiredTransition }: Allocation): string {
  if (ClientStatus === 'running' || ClientStatus === 'pending') {
    const mustGo = DesiredStatus !== 'run' || DesiredTransition.Migrate === true
    return mustGo ? DRAINING_TEXT : 'stays for now'
  }
  return `has ended: ${ClientStatus}`
}
