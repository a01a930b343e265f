import type { DrainMetadata, DrainStrategy, Eligibility, NodeDrainRequest } from '@reeve/contract'
import { isoFromMs, msFromNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  checkUuid,
  refusal,
  type NodeRow,
  type Refusal,
  withNodeEvent,
  invalidInput,
} from '../../model/index.ts'
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
import type { RequestCaller, WorkloadContext } from '../context.ts'
import { stringMap } from '../text-map.ts'

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
  const index = await context.store.settledIndex()
  return { evalIds: [], evalCreateIndex: 0, nodeModifyIndex: node.ModifyIndex, index }
}

interface NodeCommit {
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

/** Maximum deadline: later times cannot be formatted, and a hundred years is as good as none. */
const DEADLINE_MS_MAX = 100 * 366 * 24 * 3_600_000

interface DrainRequest {
  readonly nodeId: string
  readonly body: NodeDrainRequest
}

/**
 * Starts, changes or (without a spec) ends a drain. This only records the request; the drain loop
 * migrates the allocations.
 */
export async function drainNode(
  context: WorkloadContext,
  caller: RequestCaller,
  { nodeId, body }: DrainRequest,
): Promise<Result<NodeWriteResult, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const node = found.value
  const spec = body.DrainSpec ?? undefined
  const deadlineNs = spec?.Deadline ?? 0
  if (msFromNs(deadlineNs) > DEADLINE_MS_MAX)
    return err(refusal('invalid-input', 'drain deadline is more than 100 years away'))
  const settings = {
    deadlineNs,
    ignoreSystemJobs: spec?.IgnoreSystemJobs ?? false,
    meta: stringMap(body.Meta),
    accessorId: caller.accessorId,
  }
  if (spec !== undefined)
    return ok(
      await commitNode(context, caller, {
        node,
        cause: 'NodeDrain',
        next: (stamp) => withDrain(node, settings, stamp),
        createsEvaluations: false,
      }),
    )
  const becomesEligible = body.MarkEligible === true && node.SchedulingEligibility !== 'eligible'
  if (node.DrainStrategy === null && !becomesEligible) return ok(await unchangedNode(context, node))
  return ok(
    await commitNode(context, caller, {
      node,
      cause: 'NodeDrain',
      next: (stamp) => withoutDrain(node, { ...settings, becomesEligible }, stamp),
      createsEvaluations: becomesEligible,
    }),
  )
}

interface DrainSettings {
  readonly deadlineNs: number
  readonly ignoreSystemJobs: boolean
  readonly meta: Readonly<Record<string, string>> | null
  readonly accessorId: string
}

function withDrain(node: NodeRow, settings: DrainSettings, stamp: Stamp): NodeRow {
  const now = isoFromMs(stamp.timeMs)
  const { deadlineNs } = settings
  // A changed drain keeps its start time.
  const startedAt = node.DrainStrategy?.StartedAt ?? now
  const strategy: DrainStrategy = {
    Deadline: deadlineNs,
    IgnoreSystemJobs: settings.ignoreSystemJobs,
    ForceDeadline: deadlineNs > 0 ? isoFromMs(stamp.timeMs + msFromNs(deadlineNs)) : ZERO_TIME,
    StartedAt: startedAt,
  }
  const message = node.DrainStrategy === null ? 'Node drain set' : 'Node drain updated'
  return {
    ...node,
    Drain: true,
    DrainStrategy: strategy,
    SchedulingEligibility: 'ineligible',
    LastDrain: {
      StartedAt: startedAt,
      UpdatedAt: now,
      Status: 'draining',
      AccessorID: settings.accessorId,
      Meta: settings.meta,
    },
    Events: withNodeEvent(node.Events, { subsystem: 'Drain', message }, stamp),
  }
}

/** Returns the node after a drain was ended early or the node was only marked eligible. */
function withoutDrain(
  node: NodeRow,
  settings: DrainSettings & { readonly becomesEligible: boolean },
  stamp: Stamp,
): NodeRow {
  const wasDraining = node.DrainStrategy !== null
  const message = wasDraining ? 'Node drain disabled' : 'Node marked as eligible for scheduling'
  return {
    ...node,
    Drain: false,
    DrainStrategy: null,
    SchedulingEligibility: settings.becomesEligible ? 'eligible' : node.SchedulingEligibility,
    LastDrain: wasDraining ? withCanceledDrain(node.LastDrain, settings, stamp) : node.LastDrain,
    Events: withNodeEvent(node.Events, { subsystem: 'Drain', message }, stamp),
  }
}

function withCanceledDrain(
  lastDrain: DrainMetadata | null,
  { accessorId, meta }: DrainSettings,
  { timeMs }: Stamp,
): DrainMetadata | null {
  if (lastDrain === null) return null
  return {
    ...lastDrain,
    UpdatedAt: isoFromMs(timeMs),
    Status: 'canceled',
    AccessorID: accessorId,
    Meta: meta ?? lastDrain.Meta,
  }
}

/** Maximum number of characters of an unknown value in an error. */
const SHOWN_MAX = 64

/**
 * Sets whether a node is eligible for new allocations. If it becomes eligible, system jobs and jobs
 * with allocations on it are evaluated.
 */
export async function setEligibility(
  context: WorkloadContext,
  author: Author,
  nodeId: string,
  requested: string,
): Promise<Result<NodeWriteResult, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const node = found.value
  if (!isEligibility(requested))
    return invalidInput(`invalid scheduling eligibility "${requested.slice(0, SHOWN_MAX)}"`)
  if (requested === 'eligible' && node.DrainStrategy !== null)
    return invalidInput(
      "can not set node's scheduling eligibility to eligible while it is draining",
    )
  if (requested === node.SchedulingEligibility) return ok(await unchangedNode(context, node))
  const event = {
    subsystem: 'Cluster',
    message: `Node marked as ${requested} for scheduling`,
  } as const
  const written = await commitNode(context, author, {
    node,
    cause: 'NodeEligibility',
    next: (stamp) => ({
      ...node,
      SchedulingEligibility: requested,
      Events: withNodeEvent(node.Events, event, stamp),
    }),
    createsEvaluations: requested === 'eligible',
  })
  return ok(written)
}

function isEligibility(text: string): text is Eligibility {
  return text === 'eligible' || text === 'ineligible'
}

/** Evaluates all jobs affected by the node, although nothing has changed. */
export async function evaluateNode(
  context: WorkloadContext,
  author: Author,
  nodeId: string,
): Promise<Result<NodeWriteResult, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const node = found.value
  const result = await commitNode(context, author, {
    node,
    cause: 'EvaluationUpdated',
    createsEvaluations: true,
  })
  return ok(result.evalIds.length === 0 ? await unchangedNode(context, node) : result)
}

/**
 * Purges a node. Its allocations count as lost; their jobs are evaluated. A running agent loses its
 * channel and has to join again.
 */
export async function purgeNode(
  context: WorkloadContext,
  author: Author,
  nodeId: string,
): Promise<Result<NodeWriteResult, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  return ok(
    await commitNode(context, author, {
      node: found.value,
      cause: 'NodeDeregistration',
      next: 'removed',
      createsEvaluations: true,
    }),
  )
}
