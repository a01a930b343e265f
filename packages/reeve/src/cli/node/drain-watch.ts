import type { Allocation, Node } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortId } from '../output/table.ts'
import type { NodeStub } from './find-node.ts'

/** Tells what leaves the node until its drain is over; gives the exit code. */
export async function watchDrain(invocation: Invocation, { ID }: NodeStub): Promise<number> {
  const over = new AbortController()
  const signal = AbortSignal.any([invocation.signal, over.signal])
  const leaving = tellLeaving(invocation, ID, signal)
  const ended = drainEnd(invocation, ID, signal)
  // Without allocations to tell of, the drain can still be awaited: the token may see no job.
  leaving.catch(() => undefined)
  try {
    return tellEnd(invocation, await ended)
  } catch (thrown) {
    if (!invocation.signal.aborted) throw thrown
    const again = `reeve node drain --monitor ${shortId(ID)}`
    invocation.output.note(
      `The drain goes on without being watched. To watch it again:\n\n  ${again}`,
    )
    return EXIT_CODES.interrupted
  } finally {
    over.abort()
  }
}

async function drainEnd({ client }: Invocation, nodeId: string, signal: AbortSignal) {
  const request = { params: { node_id: nodeId }, signal }
  for await (const { data } of client.blocking('readNode', request)) {
    if (data.DrainStrategy === null) return data
  }
  throw signal.reason
}

function tellEnd({ output }: Invocation, { ID, Name, LastDrain }: Node): number {
  const node = `node ${shortId(ID)} (${Name})`
  switch (LastDrain?.Status) {
    case 'complete':
      output.say(`The drain of ${node} is complete.`)
      return EXIT_CODES.ok
    case 'canceled':
      output.note(`The drain of ${node} was canceled.`)
      return EXIT_CODES.failed
    case 'draining':
    case undefined:
      output.say(`${node[0]?.toUpperCase() ?? ''}${node.slice(1)} is not draining.`)
      return EXIT_CODES.ok
  }
}

async function tellLeaving(
  { client, output }: Invocation,
  nodeId: string,
  signal: AbortSignal,
): Promise<void> {
  const told = new Map<string, string>()
  const request = { params: { node_id: nodeId }, signal }
  for await (const { data } of client.blocking('listNodeAllocations', request)) {
    for (const allocation of data) {
      const now = stepOf(allocation)
      const before = told.get(allocation.ID)
      told.set(allocation.ID, now)
      // What had ended before is no news.
      if (now === before || (before === undefined && now !== LEAVING)) continue
      output.say(`Allocation ${shortId(allocation.ID)} (${allocation.Name}) ${now}.`)
    }
  }
}

const LEAVING = 'is leaving'

function stepOf({ ClientStatus, DesiredStatus, DesiredTransition }: Allocation): string {
  if (ClientStatus === 'running' || ClientStatus === 'pending') {
    const mustGo = DesiredStatus !== 'run' || DesiredTransition.Migrate === true
    return mustGo ? LEAVING : 'stays for now'
  }
  return `has ended: ${ClientStatus}`
}
