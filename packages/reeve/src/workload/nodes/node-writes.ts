import { err, ok, type Result } from '@reeve/kit/result.ts'
import { checkUuid, refusal, type NodeRow, type Refusal } from '../../model/index.ts'
import {
  nodeEvaluations,
  put,
  remove,
  withDerivedRows,
  withVolumeRows,
  type Author,
  type Cause,
  type Change,
  type Stamp,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

export const NODE_NOT_FOUND: Refusal = refusal('node-not-found', 'node not found')

/** Result of a write to a node. */
export interface NodeWriteResult {
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
export async function unchangedNode(
  context: WorkloadContext,
  node: NodeRow,
): Promise<NodeWriteResult> {
  // Read the index before awaiting; later commits may not be durable yet.
  const { index } = context.store
  await context.store.whenDurable()
  return { evalIds: [], evalCreateIndex: 0, nodeModifyIndex: node.ModifyIndex, index }
}

export interface NodeCommit {
  readonly node: NodeRow
  readonly cause: Cause
  /** The new row; undefined if the node is unchanged. */
  readonly next?: ((stamp: Stamp) => NodeRow) | 'removed'
  /** Whether to evaluate the jobs that depend on the node. */
  readonly createsEvaluations: boolean
  /** Additional changes of the commit. */
  readonly extraChanges?: readonly Change[]
}

/** Commits a change of a node with the evaluations that follow from it. */
export async function commitNode(
  context: WorkloadContext,
  { by }: Author,
  { node, cause, next, createsEvaluations, extraChanges = [] }: NodeCommit,
): Promise<NodeWriteResult> {
  const { store, ids } = context
  const evalIds: string[] = []
  const { index, durable } = store.commit({
    by,
    cause,
    changes: (stamp) => {
      const evaluations = createsEvaluations
        ? nodeEvaluations(store.tables, node, { stamp, ids })
        : []
      for (const { table, row } of evaluations)
        if (table === 'evaluations' && row) evalIds.push(row.ID)
      const changes = withVolumeRows(store.tables, nodeRowChanges(node, next, stamp), stamp)
      return withDerivedRows(store.tables, [...changes, ...extraChanges, ...evaluations])
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

function nodeRowChanges(node: NodeRow, next: NodeCommit['next'], stamp: Stamp): Change[] {
  if (next === undefined) return []
  return [next === 'removed' ? remove('nodes', node.ID) : put('nodes', next(stamp))]
}
