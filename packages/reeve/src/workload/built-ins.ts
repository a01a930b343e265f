import { DEFAULT_SCHEDULER_CONFIGURATION } from '../model/index.ts'
import { put } from '../state/index.ts'
import { initialLevelRow } from './cluster-level.ts'
import type { WorkloadContext } from './context.ts'
import { namespaceRow } from './namespaces.ts'
import { nodePoolRow } from './node-pools.ts'

/** Objects that exist from the first start of an installation. */
const BUILT_IN_NAMESPACES = [
  namespaceRow({ Name: 'default', Description: 'Default shared namespace' }),
]
const BUILT_IN_NODE_POOLS = [
  nodePoolRow({ Name: 'default', Description: 'Default node pool' }),
  nodePoolRow({ Name: 'all', Description: 'Node pool with all nodes in the cluster' }),
]
/** Stored from the start, so that check-and-set always has an index. */
const BUILT_IN_SETTINGS = [
  { Name: 'scheduler-configuration', ...DEFAULT_SCHEDULER_CONFIGURATION } as const,
]

/** Creates the missing objects; does nothing at later starts. `build` is the own version. */
export async function ensureBuiltIns(
  { store }: Pick<WorkloadContext, 'store'>,
  build?: string,
): Promise<void> {
  const { namespaces, node_pools, settings } = store.tables
  const level = initialLevelRow(store, build)
  const { durable } = store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      ...BUILT_IN_NAMESPACES.filter((row) => !namespaces.has(row.Name)).map((row) =>
        put('namespaces', row),
      ),
      ...BUILT_IN_NODE_POOLS.filter((row) => !node_pools.has(row.Name)).map((row) =>
        put('node_pools', row),
      ),
      ...BUILT_IN_SETTINGS.filter((row) => !settings.has(row.Name)).map((row) =>
        put('settings', row),
      ),
      ...(level === undefined ? [] : [put('settings', level)]),
    ],
  })
  await durable
}
