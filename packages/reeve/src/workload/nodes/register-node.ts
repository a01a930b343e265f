import type { HelloMessage, NodeRegistration, NodeStatus } from '@reeve/contract'
import { err, ok, type Result } from '../../kit/result.ts'
import {
  isStatusNews,
  nextNodeStatus,
  refusal,
  withNodeEvent,
  type NodeRow,
  type Refusal,
} from '../../model/index.ts'
import {
  nodeEvaluations,
  put,
  withJobRows,
  type Change,
  type Stamp,
  type Tables,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { nodePoolRow } from '../node-pools.ts'
import { computedClass } from './computed-class.ts'
import { mattersToJobs } from './node-changes.ts'

/**
 * A node of this region says hello. A known one proves itself by its secret; an unknown one is let
 * in by the join token (architecture §9). Either is ready afterwards, unless it was away and has
 * yet to say how its allocations are (scheduling reference §1.6).
 */
export async function registerNode(
  context: WorkloadContext,
  hello: HelloMessage,
): Promise<Result<void, Refusal>> {
  const { store, sealer } = context
  const refused = helloRefusal(context, hello)
  if (refused !== undefined) return err(refused)
  const known = store.tables.nodes.find(hello.node.ID)
  const status = statusAfterHello(store.tables, known)
  const secretHash = sealer.hash(hello.secret)
  const { durable } = store.commit({
    cause: 'NodeRegistration',
    changes: (stamp) =>
      registrationRows(context, { node: hello.node, known, secretHash, status, stamp }),
  })
  await durable
  return ok(undefined)
}

/** Why whoever says this is not believed to be the node; undefined when it is. */
export function helloRefusal(
  context: WorkloadContext,
  { node, region, secret, joinToken }: HelloMessage,
): Refusal | undefined {
  if (region !== undefined && region !== context.region)
    return refusal('permission-denied', otherRegion(region, context.region))
  const known = context.store.tables.nodes.find(node.ID)
  if (known !== undefined && known.SecretHash !== context.sealer.hash(secret))
    return refusal('permission-denied', `the secret of node ${node.ID} is another one`)
  if (known !== undefined || isJoinToken(context, joinToken)) return undefined
  return refusal(
    'permission-denied',
    'this node is unknown and its join token is not the servers’ one: ' +
      'join_token or REEVE_JOIN_TOKEN give it (docs/configuration.md)',
  )
}

function otherRegion(given: string, own: string): string {
  const what = `this node is of region "${given}" and these servers are of "${own}"`
  return `${what}: start it with region = "${own}", or let it join servers of its own region`
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
  readonly status: NodeStatus
  readonly stamp: Stamp
}

function registrationRows(context: WorkloadContext, registration: Registration): Change[] {
  const row = registeredRow(registration)
  const { known, stamp } = registration
  const { tables } = context.store
  // Reference §5.6: a pool that a node names and nobody made is made with it.
  const pool = tables.node_pools.has(row.NodePool)
    ? []
    : [put('node_pools', nodePoolRow({ Name: row.NodePool }))]
  const isNews =
    isStatusNews(known?.Status, row.Status) || (known !== undefined && mattersToJobs(known, row))
  const evaluations = isNews ? nodeEvaluations(tables, row, { stamp, ids: context.ids }) : []
  return withJobRows(tables, [put('nodes', row), ...pool, ...evaluations])
}

/** What it says on a channel that is new: the status follows from whether it was away. */
function statusAfterHello(tables: Tables, known: NodeRow | undefined): NodeStatus {
  return nextNodeStatus(known?.Status, 'hello', {
    awaitsReports: known !== undefined && hasLive(tables, known.ID),
    // It is made with the registration.
    hasPool: true,
    mayReconnect: false,
  })
}

function hasLive({ allocations }: Tables, nodeId: string): boolean {
  for (const id of allocations.keysIn('node', nodeId))
    if (allocations.groupOf('live', id) !== undefined) return true
  return false
}

function registeredRow(registration: Registration): NodeRow {
  const { node, known, secretHash, status, stamp } = registration
  const message = known === undefined ? 'Node registered' : 'Node re-registered'
  const wasAway = known === undefined || (known.Status !== 'ready' && known.Status !== status)
  const before = known?.Events ?? []
  const events = wasAway ? withNodeEvent(before, { subsystem: 'Cluster', message }, stamp) : before
  const since = { StatusDescription: '', StatusUpdatedAt: Math.floor(stamp.timeMs / 1000) }
  const { StatusDescription, StatusUpdatedAt } = known?.Status === status ? known : since
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
    Status: status,
    StatusDescription,
    StatusUpdatedAt,
    Events: events,
    CSIControllerPlugins: null,
    CSINodePlugins: null,
    CreateIndex: 0,
    ModifyIndex: 0,
  }
}

/** The machine changed: new attributes or resources, the same node, as much there as before. */
export async function updateNode(context: WorkloadContext, node: NodeRegistration): Promise<void> {
  const known = context.store.tables.nodes.find(node.ID)
  if (known === undefined) return
  const { SecretHash: secretHash, Status: status } = known
  const { durable } = context.store.commit({
    cause: 'NodeRegistration',
    changes: (stamp) => registrationRows(context, { node, known, secretHash, status, stamp }),
  })
  await durable
}
