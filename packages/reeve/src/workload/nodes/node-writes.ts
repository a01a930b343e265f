import { err, ok, type Result } from '@reeve/kit/result.ts'
import { checkUuid, refusal, type NodeRow, type Refusal } from '../../model/index.ts'
import {
  nodeEvaluations,
  put,
  remove,
  withJobRows,
  withVolumeRows,
  type Author,
  type Cause,
  type Change,
  type Stamp,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

export const NODE_NOT_FOUND: Refusal = refusal('node-not-found', 'node not found')

/** Result of a write to a node. */
export interface NodeWritten {
  /** The created evaluations, one per affected job. */
  readonly evalIds: readonly string[]
  readonly evalCreateIndex: number
  readonly nodeModifyIndex: number
  readonly index: number
}

/** Finds a node by the ID in a path. */
export function findNode({ store }: WorkloadContext, id: string): Result<NodeRow, Refusal> {
  const checked = checkUuid('node', id)
  if (!checked.ok) return err(refusal('invalid-input', checked.error))
  const node = store.tables.nodes.find(checked.value)
  return node === undefined ? err(NODE_NOT_FOUND) : ok(node)
}

/** Returns the result of a write that changes nothing. */
export async function unchanged(context: WorkloadContext, node: NodeRow): Promise<NodeWritten> {
  // Read the index before awaiting; later commits may not be durable yet.
  const { index } = context.store
  await context.store.settled()
  return { evalIds: [], evalCreateIndex: 0, nodeModifyIndex: node.ModifyIndex, index }
}

export interface NodeCommit {
  readonly node: NodeRow
  readonly cause: Cause
  /** The new row; undefined if the node is unchanged. */
  readonly next?: ((stamp: Stamp) => NodeRow) | 'removed'
  /** Whether to evaluate the jobs that depend on the node. */
  readonly evaluates: boolean
  /** Additional changes of the commit. */
  readonly also?: readonly Change[]
}

/** Commits a change of a node with the evaluations that follow from it. */
export async function commitNode(
  context: WorkloadContext,
  { by }: Author,
  { node, cause, next, evaluates, also = [] }: NodeCommit,
): Promise<NodeWritten> {
  const { store, ids } = context
  const evalIds: string[] = []
  const { index, durable } = store.commit({
    by,
    cause,
    changes: (stamp) => {
      const evaluations = evaluates ? nodeEvaluations(store.tables, node, { stamp, ids }) : []
      for (const { table, row } of evaluations)
        if (table === 'evaluations' && row) evalIds.push(row.ID)
      const changes = withVolumeRows(store.tables, nodeChanges(node, next, stamp), stamp)
      return withJobRows(store.tables, [...changes, ...also, ...evaluations])
    },
  })
  await durable
  return {
    evalIds,
    evalCreateIndex: evalIds.length === 0 ? 0 : index,
    nodeModifyIndex: next === undefined ? node.ModifyIndex : index,
    index,
  }
}

function nodeChanges(node: NodeRow, next: NodeCommit['next'], stamp: Stamp): Change[] {
  if (next === undefined) return []
  return [next === 'removed' ? remove('nodes', node.ID) : put('nodes', next(stamp))]
}
