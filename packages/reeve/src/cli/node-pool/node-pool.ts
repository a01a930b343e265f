import type { NodePool, NodePoolRequest } from '@reeve/contract'
import type { ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { formatId, undefinedIfNotFound } from '../resolve.ts'
import { renderNonEmptyFields, formatKeyValues, renderTable } from '../output/format.ts'
import { statusStyle } from '../output/color.ts'
import { isFileName } from '../input.ts'
import type { DefinitionSchema } from '../definition-file.ts'

export async function runNodePoolList({ client, output, signal }: CommandContext): Promise<number> {
  const pools: NodePool[] = []
  for await (const pool of client.pages('listNodePools', { signal })) pools.push(pool)
  output.print(pools, () => {
    if (pools.length === 0) return 'The token may see no node pool.'
    return renderTable(
      ['Name', 'Description'],
      pools.map(({ Name, Description }) => [Name, Description]),
    )
  })
  return EXIT_CODES.ok
}

export async function runNodePoolInfo({ args, client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.readNodePool({ params: { pool_name: args[0] ?? '' } })
  const { SchedulerConfiguration: scheduler } = data
  const isOversubscribed = scheduler?.MemoryOversubscriptionEnabled
  output.print(data, () =>
    renderNonEmptyFields([
      ['Name', data.Name],
      ['Description', data.Description],
      ['Meta', formatKeyValues(data.Meta)],
      ['Scheduling', scheduler?.SchedulerAlgorithm ?? ''],
      [
        'Memory may be oversubscribed',
        typeof isOversubscribed === 'boolean' ? String(isOversubscribed) : '',
      ],
    ]),
  )
  return EXIT_CODES.ok
}

export async function runNodePoolNodes(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output, signal } = invocation
  const nodes: ItemOf<'listNodePoolNodes'>[] = []
  const request = { params: { pool_name: args[0] ?? '' }, signal }
  for await (const node of client.pages('listNodePoolNodes', request)) nodes.push(node)
  output.print(nodes, () => {
    if (nodes.length === 0) return 'The pool has no nodes.'
    const rows = nodes.map((node) => [
      formatId(node.ID, flags.has('verbose')),
      node.Name,
      node.Datacenter,
      node.SchedulingEligibility,
      output.paint(statusStyle(node.Status), node.Status),
    ])
    return renderTable(['ID', 'Name', 'Datacenter', 'Eligibility', 'Status'], rows)
  })
  return EXIT_CODES.ok
}

export async function runNodePoolJobs({
  args,
  client,
  output,
  signal,
}: CommandContext): Promise<number> {
  const jobs: ItemOf<'listNodePoolJobs'>[] = []
  const request = { params: { pool_name: args[0] ?? '' }, query: { namespace: '*' }, signal }
  for await (const job of client.pages('listNodePoolJobs', request)) jobs.push(job)
  output.print(jobs, () => {
    if (jobs.length === 0) return 'No job names the pool.'
    const rows = jobs.map((job) => [
      job.ID,
      job.Namespace,
      job.Type,
      output.paint(statusStyle(job.Status), job.Status),
    ])
    return renderTable(['ID', 'Namespace', 'Type', 'Status'], rows)
  })
  return EXIT_CODES.ok
}

const NODE_POOL_SCHEMA: DefinitionSchema = {
  name: { wire: 'Name' },
  description: { wire: 'Description' },
  meta: { wire: 'Meta', block: 'map' },
  scheduler_config: {
    wire: 'SchedulerConfiguration',
    block: {
      scheduler_algorithm: { wire: 'SchedulerAlgorithm' },
      memory_oversubscription_enabled: { wire: 'MemoryOversubscriptionEnabled' },
    },
  },
}

/**
 * `node pool apply`: writes a node pool from a file, or by name with flags. Omitted flags keep
 * their values.
 */
export async function runNodePoolApply(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const given = args[0] ?? ''
  const body = isFileName(given)
    ? await poolFromFile(invocation, given)
    : await poolFromFlags(invocation, given)
  await client.v1.writeNodePool({ body })
  output.printLine(`Node pool "${body.Name ?? ''}" is stored.`)
  return EXIT_CODES.ok
}

async function poolFromFile(invocation: CommandContext, path: string): Promise<NodePoolRequest> {
  const { flags } = invocation
  if (flags.string('description') !== undefined || flags.strings('meta').length > 0) {
    throw new UsageError('give a file or flags, not both.')
  }
  const { readDefinition } = await import('../definition-file.ts')
  // Proof: the server validates the request and names invalid members.
  return await readDefinition(invocation, {
    path,
    blockName: 'node_pool',
    schema: NODE_POOL_SCHEMA,
  })
}

async function poolFromFlags(
  { client, flags }: CommandContext,
  name: string,
): Promise<NodePoolRequest> {
  const known = await undefinedIfNotFound(() =>
    client.v1.readNodePool({ params: { pool_name: name } }),
  )
  const description = flags.string('description')
  return {
    ...known?.data,
    Name: name,
    ...(description === undefined ? {} : { Description: description }),
    ...(flags.strings('meta').length > 0 ? { Meta: flags.keyValues('meta') } : {}),
  }
}

export async function runNodePoolDelete({ args, client, output }: CommandContext): Promise<number> {
  const name = args[0] ?? ''
  await client.v1.deleteNodePool({ params: { pool_name: name } })
  output.printLine(`Node pool "${name}" is deleted.`)
  return EXIT_CODES.ok
}
