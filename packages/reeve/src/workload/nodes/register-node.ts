import { NodeRegistration, type HelloMessage, type NodeStatus } from '@reeve/contract'
import { truncateText } from '@reeve/kit/truncate-text.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isStatusNews,
  LIMITS,
  nextNodeStatus,
  refusal,
  registrationProblem,
  withNodeEvent,
  type JoinLimits,
  type NodeJoinTokenRow,
  type NodeRow,
  type Refusal,
} from '../../model/index.ts'
import {
  nodeEvaluations,
  put,
  withJobRows,
  withVolumeRows,
  type Change,
  type Stamp,
  type Tables,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { nodePoolRow } from '../node-pools.ts'
import { computedClass } from './computed-class.ts'
import { checkJoinToken, type JoinProof } from './join-tokens.ts'
import { mattersToJobs } from './node-changes.ts'
import { revocationRefusal } from './revoke.ts'

/** An admitted node, with the proof that admits it. */
export interface Admission {
  /** Undefined for a new node. */
  readonly known: NodeRow | undefined
  readonly secretHash: string
  /** The proof of a new node. */
  readonly proof?: JoinProof
}

/**
 * Registers a node of this region. A known node is authenticated by its secret; an unknown one is
 * admitted by a join token, which the same commit uses up. The node becomes ready, unless it was
 * away and still has to report its allocations.
 */
export async function registerNode(
  context: WorkloadContext,
  hello: HelloMessage,
): Promise<Result<void, Refusal>> {
  const { store } = context
  // No await from here to the commit: of two nodes with the same token one is admitted.
  const admitted = admitNode(context, hello)
  if (!admitted.ok) return admitted
  const { known, secretHash, proof } = admitted.value
  const status = statusAfterHello(store.tables, known)
  const token = proof === 'shared' ? undefined : proof
  const { durable } = store.commit({
    by: 'system',
    cause: 'NodeRegistration',
    changes: (stamp) => [
      ...registrationRows(context, {
        node: hello.node,
        nodeTimeMs: hello.timeMs,
        known,
        secretHash,
        token,
        status,
        stamp,
      }),
      ...(token === undefined ? [] : [usedToken(token, hello.node.ID, stamp)]),
    ],
  })
  await durable
  return ok(undefined)
}

/** Returns the reason for refusing a registering node, or its admission. */
export function admitNode(
  context: WorkloadContext,
  { node, region, secret, joinToken }: HelloMessage,
): Result<Admission, Refusal> {
  const { store, sealer } = context
  if (region !== undefined && region !== context.region)
    return err(refusal('permission-denied', otherRegion(region, context.region)))
  const secretHash = sealer.hash(secret)
  const revoked = revocationRefusal(store.tables, { nodeId: node.ID, secretHash })
  if (revoked !== undefined) return err(revoked)
  const known = store.tables.nodes.find(node.ID)
  if (known !== undefined && !isSecretOf(known, secretHash))
    return err(refusal('permission-denied', `the secret of node ${node.ID} is another one`))
  const proof = known === undefined ? checkJoinToken(context, joinToken) : undefined
  if (proof?.ok === false) return proof
  const limits = proof === undefined ? known?.JoinedAs : limitsOf(proof.value)
  const refused = descriptionRefusal(context, node, limits)
  if (refused !== undefined) return err(refused)
  return ok({ known, secretHash, ...(proof === undefined ? {} : { proof: proof.value }) })
}

function isSecretOf({ SecretHash, NextSecretHashes = [] }: NodeRow, hash: string): boolean {
  return SecretHash === hash || NextSecretHashes.includes(hash)
}

function limitsOf(proof: JoinProof): JoinLimits | undefined {
  return proof === 'shared' ? undefined : proof
}

/** Validates a node's description, at registration and at each update. */
function descriptionRefusal(
  { store }: WorkloadContext,
  node: NodeRegistration,
  limits: JoinLimits | undefined,
): Refusal | undefined {
  const problem =
    registrationProblem(node) ??
    limitProblem(node, limits) ??
    poolProblem(store.tables, node.NodePool)
  return problem === undefined ? undefined : refusal('invalid-input', problem)
}

function limitProblem(node: NodeRegistration, limits: JoinLimits | undefined): string | undefined {
  const { NodeName = '', NodePool = '' } = limits ?? {}
  if (NodePool !== '' && node.NodePool !== NodePool)
    return `the join token of this node is for pool "${NodePool}": set client.node_pool to it`
  if (NodeName !== '' && node.Name !== NodeName)
    return `the join token of this node is for the name "${NodeName}": set name to it`
  return undefined
}

/**
 * Checks the node pool. An unknown pool is created with the node, up to a limit: nodes are not
 * trusted.
 */
function poolProblem({ node_pools: pools }: Tables, name: string): string | undefined {
  if (pools.has(name) || pools.size < LIMITS.nodePoolsMax) return undefined
  return (
    `node pool "${name}" does not exist, and nodes create none while there are ` +
    `${LIMITS.nodePoolsMax}: create it with "reeve node pool apply"`
  )
}

function usedToken(
  { SecretHash, ...token }: NodeJoinTokenRow,
  nodeId: string,
  stamp: Stamp,
): Change {
  const used = { UsedBy: nodeId, UsedAt: isoFromMs(stamp.timeMs) }
  return put('node_join_tokens', { ...token, SecretHash, ...used })
}

function otherRegion(given: string, own: string): string {
  const what = `this node is of region "${given}" and these servers are of "${own}"`
  return `${what}: start it with region = "${own}", or let it join servers of its own region`
}

interface Registration {
  readonly node: NodeRegistration
  /** The node's clock; undefined if it was not reported. */
  readonly nodeTimeMs?: number | undefined
  readonly known: NodeRow | undefined
  readonly secretHash: string
  /** The single-use token that admitted a new node. */
  readonly token?: JoinLimits | undefined
  readonly status: NodeStatus
  readonly stamp: Stamp
}

function registrationRows(context: WorkloadContext, registration: Registration): Change[] {
  const { known, stamp } = registration
  const { tables } = context.store
  const named = withNameNote(tables, registeredRow(registration), registration)
  const row = withClockNote(named, registration)
  // An unknown pool is created with its first node.
  const pool = tables.node_pools.has(row.NodePool)
    ? []
    : [put('node_pools', nodePoolRow({ Name: row.NodePool }))]
  const isNews =
    isStatusNews(known?.Status, row.Status) || (known !== undefined && mattersToJobs(known, row))
  const evaluations = isNews ? nodeEvaluations(tables, row, { stamp, ids: context.ids }) : []
  const changes = withVolumeRows(tables, [put('nodes', row)], stamp)
  return withJobRows(tables, [...changes, ...pool, ...evaluations])
}

/** Returns the status after a hello, which depends on whether the node was away. */
function statusAfterHello(tables: Tables, known: NodeRow | undefined): NodeStatus {
  return nextNodeStatus(known?.Status, 'hello', {
    awaitsReports: known !== undefined && hasLive(tables, known.ID),
    // The pool is created with the registration.
    hasPool: true,
    mayReconnect: false,
  })
}

function hasLive({ allocations }: Tables, nodeId: string): boolean {
  for (const id of allocations.keysIn('node', nodeId))
    if (allocations.groupOf('live', id) !== undefined) return true
  return false
}

/**
 * Adds an event if another node has the same name. Names need not be unique, but operators might
 * confuse the nodes.
 */
function withNameNote(tables: Tables, row: NodeRow, { known, stamp }: Registration): NodeRow {
  if (known?.Name === row.Name) return row
  const [other] = [...tables.nodes.keysIn('name', row.Name)].filter((id) => id !== row.ID)
  if (other === undefined) return row
  const message = `Node has the same name as node ${other}`
  const event = { subsystem: 'Cluster', message } as const
  return { ...row, Events: withNodeEvent(row.Events, event, stamp) }
}

/** Minimum difference between the clocks of node and servers that is reported. */
const SKEW_MS_MAX = 5_000
const CLOCK_NOTE = 'The clock of this node is'

/**
 * Adds an event if the node's clock differs: the times it reports are compared with those of
 * servers.
 */
function withClockNote(row: NodeRow, { nodeTimeMs, stamp }: Registration): NodeRow {
  const skewMs = nodeTimeMs === undefined ? 0 : nodeTimeMs - stamp.timeMs
  if (Math.abs(skewMs) <= SKEW_MS_MAX) return row
  // A node that reconnects repeatedly would fill the list with the same event.
  if (row.Events.at(-1)?.Message.startsWith(CLOCK_NOTE) === true) return row
  const seconds = Math.round(Math.abs(skewMs) / 1_000)
  const direction = skewMs > 0 ? 'ahead of' : 'behind'
  const message = `${CLOCK_NOTE} ${seconds} s ${direction} that of the servers`
  const event = { subsystem: 'Cluster', message } as const
  return { ...row, Events: withNodeEvent(row.Events, event, stamp) }
}

function registeredRow(registration: Registration): NodeRow {
  const { known, secretHash, token, status, stamp } = registration
  const node = storedDescription(registration.node)
  const message = known === undefined ? 'Node registered' : 'Node re-registered'
  const wasAway = known === undefined || (known.Status !== 'ready' && known.Status !== status)
  const before = known?.Events ?? []
  const events = wasAway ? withNodeEvent(before, { subsystem: 'Cluster', message }, stamp) : before
  const since = { StatusDescription: '', StatusUpdatedAt: Math.floor(stamp.timeMs / 1000) }
  const { StatusDescription, StatusUpdatedAt } = known?.Status === status ? known : since
  return {
    ...node,
    ...secretsAfter(known, secretHash),
    ...joinedAs(known, token),
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

/**
 * Returns the secrets of a node. The one it presents is the one it has stored, so other offered
 * ones are dropped.
 */
function secretsAfter(
  known: NodeRow | undefined,
  SecretHash: string,
): Pick<NodeRow, 'SecretHash' | 'NextSecretHashes'> {
  const offered = known?.SecretHash === SecretHash ? known.NextSecretHashes : undefined
  return { SecretHash, ...(offered === undefined ? {} : { NextSecretHashes: offered }) }
}

function joinedAs(
  known: NodeRow | undefined,
  token: JoinLimits | undefined,
): Pick<NodeRow, 'JoinedAs'> {
  if (known?.JoinedAs !== undefined) return { JoinedAs: known.JoinedAs }
  const { NodeName = '', NodePool = '' } = token ?? {}
  return NodeName === '' && NodePool === '' ? {} : { JoinedAs: { NodeName, NodePool } }
}

/** Returns the description without unknown fields, and with health messages cut to one line. */
function storedDescription(node: NodeRegistration): NodeRegistration {
  // Every field of a NodeRegistration, as its schema lists them.
  const { Drivers, ...rest } = Object.fromEntries(
    FIELDS.map((field) => [field, node[field]]),
  ) as NodeRegistration
  const drivers = Object.entries(Drivers).map(([name, info]) => {
    const text = info.HealthDescription.replaceAll(/\p{Cc}+/gu, ' ')
    const HealthDescription = truncateText(text, LIMITS.nodeHealthTextCharsMax)
    return [name, { ...info, HealthDescription }] as const
  })
  return { ...rest, Drivers: Object.fromEntries(drivers) }
}

// The keys of an object type are its property names.
const FIELDS = Object.keys(NodeRegistration.properties) as readonly (keyof NodeRegistration)[]

/**
 * Updates the description of a node, with new attributes or resources; its status is unchanged. An
 * invalid description is refused as at registration.
 */
export async function updateNode(
  context: WorkloadContext,
  node: NodeRegistration,
): Promise<Result<void, Refusal>> {
  const known = context.store.tables.nodes.find(node.ID)
  if (known === undefined) return ok(undefined)
  const refused = descriptionRefusal(context, node, known.JoinedAs)
  if (refused !== undefined) return err(refused)
  const { SecretHash: secretHash, Status: status } = known
  const { durable } = context.store.commit({
    by: 'system',
    cause: 'NodeRegistration',
    changes: (stamp) => registrationRows(context, { node, known, secretHash, status, stamp }),
  })
  await durable
  return ok(undefined)
}
