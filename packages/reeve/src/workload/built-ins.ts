import type { NodePool } from '@reeve/contract'
import { nodePoolHash } from '../acl/index.ts'
import { put } from '../state/index.ts'
import type { WorkloadContext } from './context.ts'
import { namespaceRow } from './namespaces.ts'

/** What every installation has from its first start (reference §8.4). */
const NAMESPACES = [namespaceRow({ Name: 'default', Description: 'Default shared namespace' })]
const NODE_POOLS = [
  nodePoolRow('default', 'Default node pool'),
  nodePoolRow('all', 'Node pool with all nodes in the cluster'),
]

/** Adds what is missing; does nothing at later starts. */
export async function ensureBuiltIns({ store }: WorkloadContext): Promise<void> {
  const { namespaces, node_pools } = store.tables
  const { durable } = store.commit({
    cause: undefined,
    changes: () => [
      ...NAMESPACES.filter((row) => !namespaces.has(row.Name)).map((row) => put('namespaces', row)),
      ...NODE_POOLS.filter((row) => !node_pools.has(row.Name)).map((row) => put('node_pools', row)),
    ],
  })
  await durable
}

function nodePoolRow(Name: string, Description: string): NodePool {
  const pool = { Name, Description, Meta: null, SchedulerConfiguration: null }
  return { ...pool, Hash: nodePoolHash(pool), CreateIndex: 0, ModifyIndex: 0 }
}
