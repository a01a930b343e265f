import type { NodePool, NodePoolRequest } from '@reeve/contract'
import type { ItemOf } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { findOrUndefined } from '../find-or-undefined.ts'
import { idText } from '../find-id.ts'
import { knownFields, pairsText } from '../output/known-fields.ts'
import { table } from '../output/table.ts'
import { toneOf } from '../output/tone.ts'
import { isFileName } from '../spec-file/file-text.ts'
import type { SpecShape } from '../spec-file/read-spec.ts'

export async function runNodePoolList({ client, output, signal }: Invocation): Promise<number> {
  const pools: NodePool[] = []
  for await (const pool of client.pages('listNodePools', { signal })) pools.push(pool)
  output.show(pools, () => {
    if (pools.length === 0) return 'The token may see no node pool.'
    return table(
      ['Name', 'Description'],
      pools.map(({ Name, Description }) => [Name, Description]),
    )
  })
  return EXIT_CODES.ok
}

export async function runNodePoolInfo({ args, client, output }: Invocation): Promise<number> {
  const { data } = await client.v1.readNodePool({ params: { pool_name: args[0] ?? '' } })
  const { SchedulerConfiguration: scheduler } = data
  const isOversubscribed = scheduler?.MemoryOversubscriptionEnabled
  output.show(data, () =>
    knownFields([
      ['Name', data.Name],
      ['Description', data.Description],
      ['Meta', pairsText(data.Meta)],
      ['Scheduling', scheduler?.SchedulerAlgorithm ?? ''],
      [
        'Memory may be oversubscribed',
        typeof isOversubscribed === 'boolean' ? String(isOversubscribed) : '',
      ],
    ]),
  )
  return EXIT_CODES.ok
}

export async function runNodePoolNodes(invocation: Invocation): Promise<number> {
  const { args, client, flags, output, signal } = invocation
  const nodes: ItemOf<'listNodePoolNodes'>[] = []
  const request = { params: { pool_name: args[0] ?? '' }, signal }
  for await (const node of client.pages('listNodePoolNodes', request)) nodes.push(node)
  output.show(nodes, () => {
    if (nodes.length === 0) return 'The pool has no nodes.'
    const rows = nodes.map((node) => [
      idText(node.ID, flags.has('verbose')),
      node.Name,
      node.Datacenter,
      node.SchedulingEligibility,
      output.paint(toneOf(node.Status), node.Status),
    ])
    return table(['ID', 'Name', 'Datacenter', 'Eligibility', 'Status'], rows)
  })
  return EXIT_CODES.ok
}

export async function runNodePoolJobs({
  args,
  client,
  output,
  signal,
}: Invocation): Promise<number> {
  const jobs: ItemOf<'listNodePoolJobs'>[] = []
  const request = { params: { pool_name: args[0] ?? '' }, query: { namespace: '*' }, signal }
  for await (const job of client.pages('listNodePoolJobs', request)) jobs.push(job)
  output.show(jobs, () => {
    if (jobs.length === 0) return 'No job names the pool.'
    const rows = jobs.map((job) => [
      job.ID,
      job.Namespace,
      job.Type,
      output.paint(toneOf(job.Status), job.Status),
    ])
    return table(['ID', 'Namespace', 'Type', 'Status'], rows)
  })
  return EXIT_CODES.ok
}

const SHAPE: SpecShape = {
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

/** From a file, or by name with flags; what flags do not name stays as it is. */
export async function runNodePoolApply(invocation: Invocation): Promise<number> {
  const { args, client, output } = invocation
  const given = args[0] ?? ''
  const body = isFileName(given)
    ? await poolInFile(invocation, given)
    : await changedPool(invocation, given)
  await client.v1.writeNodePool({ body })
  output.say(`Node pool "${body.Name ?? ''}" is stored.`)
  return EXIT_CODES.ok
}

async function poolInFile(invocation: Invocation, path: string): Promise<NodePoolRequest> {
  const { flags } = invocation
  if (flags.text('description') !== undefined || flags.texts('meta').length > 0) {
    throw new UsageError('give a file or flags, not both.')
  }
  const { readSpec } = await import('../spec-file/read-spec.ts')
  // The server holds what it is sent to the schema, and names the member that is wrong.
  return await readSpec(invocation, { path, around: 'node_pool', shape: SHAPE })
}

async function changedPool({ client, flags }: Invocation, name: string): Promise<NodePoolRequest> {
  const known = await findOrUndefined(() => client.v1.readNodePool({ params: { pool_name: name } }))
  const description = flags.text('description')
  return {
    ...known?.data,
    Name: name,
    ...(description === undefined ? {} : { Description: description }),
    ...(flags.texts('meta').length > 0 ? { Meta: flags.pairs('meta') } : {}),
  }
}

export async function runNodePoolDelete({ args, client, output }: Invocation): Promise<number> {
  const name = args[0] ?? ''
  await client.v1.deleteNodePool({ params: { pool_name: name } })
  output.say(`Node pool "${name}" is deleted.`)
  return EXIT_CODES.ok
}
