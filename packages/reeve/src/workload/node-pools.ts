import { ALL_NODE_POOL, type NodePool, type NodePoolRequest } from '@reeve/contract'
import { nodePoolHash, validateNodePool } from '../acl/index.ts'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../model/index.ts'
import { put, remove, type Author, type Store } from '../state/index.ts'
import type { WorkloadContext } from './context.ts'
import { stringMap } from './text-map.ts'
import { findRemoteUsage, formatUsage } from './remote-regions.ts'

export const NODE_POOL_NOT_FOUND: Refusal = refusal('node-pool-not-found', 'node pool not found')

/** The built-in pool that contains every node in addition to its own pool. */
export const ALL_POOLS = ALL_NODE_POOL
/** Query for jobs that are not dead. */
const LIVE_JOBS_QUERY = new URLSearchParams({ filter: 'Status != "dead"' }).toString()
const BUILT_IN_POOLS: readonly string[] = [ALL_POOLS, 'default']

/** Creates or replaces a node pool. */
export async function writeNodePool(
  { store }: WorkloadContext,
  { by }: Author,
  request: NodePoolRequest,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const row = nodePoolRow(request)
  const problem = validateNodePool(row)
  if (problem !== undefined) return err(refusal('invalid-input', problem))
  if (BUILT_IN_POOLS.includes(row.Name))
    return err(refusal('invalid-input', `modifying node pool "${row.Name}" is not allowed`))
  const { index, durable } = store.commit({
    by,
    cause: 'NodePoolUpserted',
    changes: () => [put('node_pools', row)],
  })
  await durable
  return ok({ index })
}

/** Returns the pool in its canonical form, with defaults for absent fields. */
export function nodePoolRow(request: NodePoolRequest): NodePool {
  const { SchedulerConfiguration: scheduler } = request
  const pool = {
    Name: request.Name ?? '',
    Description: request.Description ?? '',
    Meta: stringMap(request.Meta),
    SchedulerConfiguration: scheduler
      ? {
          SchedulerAlgorithm: scheduler.SchedulerAlgorithm ?? '',
          MemoryOversubscriptionEnabled: scheduler.MemoryOversubscriptionEnabled ?? null,
        }
      : null,
  }
  return { ...pool, Hash: nodePoolHash(pool), CreateIndex: 0, ModifyIndex: 0 }
}

/** Deletes a node pool without nodes and live jobs. */
export async function deleteNodePool(
  context: WorkloadContext,
  { by }: Author,
  name: string,
  secret?: string,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const { store, region } = context
  if (BUILT_IN_POOLS.includes(name))
    return err(refusal('invalid-input', `deleting node pool "${name}" is not allowed`))
  const pool = `/v1/node/pool/${encodeURIComponent(name)}`
  const remoteUsage = await findRemoteUsage(context, secret, [
    { what: 'nodes', url: `${pool}/nodes?per_page=1` },
    { what: 'non-terminal jobs', url: `${pool}/jobs?namespace=*&per_page=1&${LIVE_JOBS_QUERY}` },
  ])
  // No await from here to the commit.
  if (!store.tables.node_pools.has(name)) return err(NODE_POOL_NOT_FOUND)
  const usage = formatUsage(region, localUsage(store, name), remoteUsage).map(
    (use) => `node pool "${name}" has ${use}`,
  )
  if (usage.length > 0) return err(refusal('node-pool-in-use', formatMultiError(usage)))
  const { index, durable } = store.commit({
    by,
    cause: 'NodePoolDeleted',
    changes: () => [remove('node_pools', name)],
  })
  await durable
  return ok({ index })
}

function localUsage({ tables }: Store, pool: string): readonly string[] {
  return [
    ...(tables.nodes.countByIndex('pool', pool) > 0 ? ['nodes'] : []),
    ...(tables.jobs.countByIndex('livePool', pool) > 0 ? ['non-terminal jobs'] : []),
  ]
}
