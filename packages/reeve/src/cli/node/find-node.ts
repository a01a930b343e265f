import type { ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { resolveIdPrefix, isIdPrefix, resolveOne } from '../resolve.ts'

export type NodeStub = ItemOf<'listNodes'>

const NODE_SEARCH_TEXTS = { noun: 'node', listCommand: 'reeve node status' }

/**
 * Finds the node with the name or ID prefix of the first argument; with `--self` the node of the
 * responding agent.
 */
export async function resolveNode(invocation: CommandContext): Promise<NodeStub> {
  const [given] = invocation.args
  const isSelf = invocation.flags.has('self')
  if (isSelf && given !== undefined) throw new UsageError('name a node or give --self, not both.')
  if (isSelf) return await findNode(invocation, await agentNodeId(invocation))
  if (given === undefined) {
    throw new UsageError('name a node, or give --self. "reeve node status" lists them.')
  }
  return await findNode(invocation, given)
}

/** A name takes precedence, because names may look like ID prefixes. */
export async function findNode(invocation: CommandContext, given: string): Promise<NodeStub> {
  const { client, signal } = invocation
  const filter = `Name == ${JSON.stringify(given)}`
  const named: NodeStub[] = []
  for await (const node of client.pages('listNodes', { query: { filter }, signal }))
    named.push(node)
  if (named.length > 0 || !isIdPrefix(given)) {
    return resolveOne({
      ...NODE_SEARCH_TEXTS,
      input: given,
      matches: named,
      idOf: ({ ID }) => ID,
      describe,
    })
  }
  return await resolveIdPrefix({
    ...NODE_SEARCH_TEXTS,
    input: given,
    search: (prefix) => client.pages('listNodes', { query: { prefix }, signal }),
    describe: ({ Name, Status }) => `${Name}, ${Status}`,
  })
}

function describe({ ID, Name, Status }: NodeStub): string {
  return `${ID}  ${Name}, ${Status}`
}

/** Returns the node ID of the responding agent. */
async function agentNodeId({ client, settings }: CommandContext): Promise<string> {
  const { data } = await client.v1.readAgentSelf()
  const id = data.stats['client']?.['node_id']
  if (id !== undefined && id !== '') return id
  throw new CommandError(`The agent at ${settings.address} is no node.`, {
    code: EXIT_CODES.missing,
    hint: 'Name the node, or ask its own agent with --address.',
  })
}
