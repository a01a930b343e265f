import type { Allocation, Node } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortId } from '../output/table.ts'
import type { NodeStub } from './find-node.ts'

/** Tells what leaves the node until its drain is over; gives the exit code. */
export async function watchDrain(invocation: Invocation, { ID }: NodeStub): Promise<number> {
  const over = new AbortController()
  const signal = AbortSignal.any([invocation.signal, over.signal])
  const tell = teller(invocation)
  // Without allocations to tell of, the drain can still be awaited: the token may see no job.
  const leaving = tellLeaving({ invocation, nodeId: ID, tell }, signal).catch(() => undefined)
  try {
    const node = await drainEnd(invocation, ID, signal)
    over.abort()
    await leaving
    // The last one may have ended in the same moment: the drain's end is told after it.
    await tellNow({ invocation, nodeId: ID, tell }).catch(() => undefined)
    return tellEnd(invocation, node)
  } catch (thrown) {
    if (!invocation.signal.aborted) throw thrown
    const again = `reeve node drain --monitor ${shortId(ID)}`
    invocation.output.note(`The drain continues. To watch it again:\n\n  ${again}`)
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

type Tell = (allocations: readonly Allocation[]) => void

interface Telling {
  readonly invocation: Invocation
  readonly nodeId: string
  readonly tell: Tell
}

async function tellLeaving(telling: Telling, signal: AbortSignal): Promise<void> {
  const { invocation, nodeId, tell } = telling
  const request = { params: { node_id: nodeId }, signal }
  for await (const { data } of invocation.client.blocking('listNodeAllocations', request))
    tell(data)
}

async function tellNow({ invocation, nodeId, tell }: Telling): Promise<void> {
  const { client, signal } = invocation
  tell((await client.v1.listNodeAllocations({ params: { node_id: nodeId }, signal })).data)
}

/** Says of each allocation what is new about it. */
function teller({ output }: Invocation): Tell {
  const told = new Map<string, string>()
  return (allocations) => {
    for (const allocation of allocations) {
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
