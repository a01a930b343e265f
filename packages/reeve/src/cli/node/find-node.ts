import type { ItemOf } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { findById, isIdPrefix } from '../find-id.ts'
import { chooseOne } from '../prefix.ts'

export type NodeStub = ItemOf<'listNodes'>

const WORDS = { noun: 'node', lists: 'reeve node status' }

/** The node of this name or whose id begins so; with `--self` that of the agent that answers. */
export async function chosenNode(invocation: Invocation): Promise<NodeStub> {
  const [given] = invocation.args
  const isSelf = invocation.flags.has('self')
  if (isSelf && given !== undefined) throw new UsageError('name a node or give --self, not both.')
  if (isSelf) return await findNode(invocation, await ownNodeId(invocation))
  if (given === undefined) {
    throw new UsageError('name a node, or give --self. "reeve node status" lists them.')
  }
  return await findNode(invocation, given)
}

/** A name wins over ids: names may look like hex digits, whole ids never like names. */
export async function findNode(invocation: Invocation, given: string): Promise<NodeStub> {
  const { client, signal } = invocation
  const filter = `Name == ${JSON.stringify(given)}`
  const named: NodeStub[] = []
  for await (const node of client.pages('listNodes', { query: { filter }, signal }))
    named.push(node)
  if (named.length > 0 || !isIdPrefix(given)) {
    return chooseOne({ ...WORDS, given, found: named, idOf: ({ ID }) => ID, describe })
  }
  return await findById({
    ...WORDS,
    given,
    search: (prefix) => client.pages('listNodes', { query: { prefix }, signal }),
    describe: ({ Name, Status }) => `${Name}, ${Status}`,
  })
}

function describe({ ID, Name, Status }: NodeStub): string {
  return `${ID}  ${Name}, ${Status}`
}

/** The node that runs in the agent that answers. */
async function ownNodeId({ client, settings }: Invocation): Promise<string> {
  const { data } = await client.v1.readAgentSelf()
  const id = data.stats['client']?.['node_id']
  if (id !== undefined && id !== '') return id
  throw new CommandFailure(`The agent at ${settings.address} is no node.`, {
    code: EXIT_CODES.missing,
    hint: 'Name the node, or ask its own agent with --address.',
  })
}
