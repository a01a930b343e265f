import type { Allocation, Node } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortenId } from '../output/table.ts'
import type { NodeStub } from './find-node.ts'

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
