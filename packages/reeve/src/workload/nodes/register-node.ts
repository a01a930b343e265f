import type { HelloMessage, NodeRegistration } from '@reeve/contract'
import { err, ok, type Result } from '../../kit/result.ts'
import { refusal, withNodeEvent, type NodeRow, type Refusal } from '../../model/index.ts'
import { nodeEvaluations, put, type Change, type Stamp } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { nodePoolRow } from '../node-pools.ts'
import { computedClass } from './computed-class.ts'

/**
 * A node says hello. A known one proves itself by its secret; an unknown one is let in by the join
 * token (architecture §9). Either is ready afterwards.
 */
export async function registerNode(
  context: WorkloadContext,
  hello: HelloMessage,
): Promise<Result<void, Refusal>> {
  const { store, sealer } = context
  const secretHash = sealer.hash(hello.secret)
  const known = store.tables.nodes.find(hello.node.ID)
  if (known !== undefined && known.SecretHash !== secretHash)
    return err(refusal('permission-denied', `the secret of node ${hello.node.ID} is another one`))
  if (known === undefined && !isJoinToken(context, hello.joinToken))
    return err(
      refusal(
        'permission-denied',
        'this node is unknown and its join token is not the servers’ one',
      ),
    )
  const { durable } = store.commit({
    cause: 'NodeRegistration',
    changes: (stamp) => registrationRows(context, { node: hello.node, known, secretHash, stamp }),
  })
  await durable
  return ok(undefined)
}

/** Compared by hash, so that the time it takes tells nothing about the token. */
function isJoinToken(context: WorkloadContext, given: string | undefined): boolean {
  const { sealer, joinToken } = context
  return given !== undefined && sealer.hash(given) === sealer.hash(joinToken)
}

interface Registration {
  readonly node: NodeRegistration
  readonly known: NodeRow | undefined
  readonly secretHash: string
  readonly stamp: Stamp
}

function registrationRows(context: WorkloadContext, registration: Registration): Change[] {
  const row = registeredRow(registration)
  const wasReady = registration.known?.Status === 'ready'
  const { tables } = context.store
  // Reference §5.6: a pool that a node names and nobody made is made with it.
  const pool = tables.node_pools.has(row.NodePool)
    ? []
    : [put('node_pools', nodePoolRow({ Name: row.NodePool }))]
  const follow = { stamp: registration.stamp, ids: context.ids }
  return [put('nodes', row), ...pool, ...(wasReady ? [] : nodeEvaluations(tables, row, follow))]
}

function registeredRow({ node, known, secretHash, stamp }: Registration): NodeRow {
  const message = known === undefined ? 'Node registered' : 'Node re-registered'
  const isEvent = known === undefined || known.Status !== 'ready'
  const before = known?.Events ?? []
  const events = isEvent ? withNodeEvent(before, { subsystem: 'Cluster', message }, stamp) : before
  return {
    ...node,
    SecretHash: secretHash,
    Resources: null,
    Reserved: null,
    ComputedClass: computedClass(node),
    Drain: known?.Drain ?? false,
    DrainStrategy: known?.DrainStrategy ?? null,
    LastDrain: known?.LastDrain ?? null,
    SchedulingEligibility: known?.SchedulingEligibility ?? 'eligible',
    Status: 'ready',
    StatusDescription: '',
    StatusUpdatedAt: Math.floor(stamp.timeMs / 1000),
    Events: events,
    CSIControllerPlugins: null,
    CSINodePlugins: null,
    CreateIndex: 0,
    ModifyIndex: 0,
  }
}

/** The machine changed: new attributes or resources, the same node. */
export async function updateNode(context: WorkloadContext, node: NodeRegistration): Promise<void> {
  const known = context.store.tables.nodes.find(node.ID)
  if (known === undefined) return
  const { durable } = context.store.commit({
    cause: 'NodeRegistration',
    changes: (stamp) =>
      registrationRows(context, { node, known, secretHash: known.SecretHash, stamp }),
  })
  await durable
}
