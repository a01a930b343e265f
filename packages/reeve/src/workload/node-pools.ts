import type { NodePool, NodePoolRequest } from '@reeve/contract'
import { nodePoolHash, validateNodePool } from '../acl/index.ts'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../model/index.ts'
import { put, remove, type Author, type Store } from '../state/index.ts'
import type { WorkloadContext } from './context.ts'
import { textMap } from './text-map.ts'
import { usesElsewhere, usesTexts } from './uses-elsewhere.ts'

export const NODE_POOL_NOT_FOUND: Refusal = refusal('node-pool-not-found', 'node pool not found')

/** Every node is in one of its own and in this one too. */
export const ALL_POOLS = 'all'
/** The query for jobs that are not over. */
const LIVE = new URLSearchParams({ filter: 'Status != "dead"' }).toString()
const BUILT_IN: readonly string[] = [ALL_POOLS, 'default']

/** Creates or replaces a node pool. */
export async function writeNodePool(
  { store }: WorkloadContext,
  { by }: Author,
  request: NodePoolRequest,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const row = nodePoolRow(request)
  const problem = validateNodePool(row)
  if (problem !== undefined) return err(refusal('invalid-input', problem))
  if (BUILT_IN.includes(row.Name))
    return err(refusal('invalid-input', `modifying node pool "${row.Name}" is not allowed`))
  const { index, durable } = store.commit({
    by,
    cause: 'NodePoolUpserted',
    changes: () => [put('node_pools', row)],
  })
  await durable
  return ok({ index })
}

/** The pool in its canonical form: what the request leaves out has its default. */
export function nodePoolRow(request: NodePoolRequest): NodePool {
  const { SchedulerConfiguration: scheduler } = request
  const pool = {
    Name: request.Name ?? '',
    Description: request.Description ?? '',
    Meta: textMap(request.Meta),
    SchedulerConfiguration: scheduler
      ? {
          SchedulerAlgorithm: scheduler.SchedulerAlgorithm ?? '',
          MemoryOversubscriptionEnabled: scheduler.MemoryOversubscriptionEnabled ?? null,
        }
      : null,
  }
  return { ...pool, Hash: nodePoolHash(pool), CreateIndex: 0, ModifyIndex: 0 }
}

/** Only a pool that no node is in and no live job names goes. */
export async function deleteNodePool(
  context: WorkloadContext,
  { by }: Author,
  name: string,
  secret?: string,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const { store, region } = context
  if (BUILT_IN.includes(name))
    return err(refusal('invalid-input', `deleting node pool "${name}" is not allowed`))
  const pool = `/v1/node/pool/${encodeURIComponent(name)}`
  const elsewhere = await usesElsewhere(context, secret, [
    { what: 'nodes', url: `${pool}/nodes?per_page=1` },
    { what: 'non-terminal jobs', url: `${pool}/jobs?namespace=*&per_page=1&${LIVE}` },
  ])
  // From here to the commit nothing waits.
  if (!store.tables.node_pools.has(name)) return err(NODE_POOL_NOT_FOUND)
  const uses = usesTexts(region, usesOf(store, name), elsewhere).map(
    (use) => `node pool "${name}" has ${use}`,
  )
  if (uses.length > 0) return err(refusal('node-pool-in-use', formatMultiError(uses)))
  const { index, durable } = store.commit({
    by,
    cause: 'NodePoolDeleted',
    changes: () => [remove('node_pools', name)],
  })
  await durable
  return ok({ index })
}

function usesOf({ tables }: Store, pool: string): readonly string[] {
  return [
    ...(tables.nodes.countIn('pool', pool) > 0 ? ['nodes'] : []),
    ...(tables.jobs.countIn('livePool', pool) > 0 ? ['non-terminal jobs'] : []),
  ]
}
