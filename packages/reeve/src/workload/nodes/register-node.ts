import { NodeRegistration, type HelloMessage, type NodeStatus, type Node } from '@reeve/contract'
import { truncateText } from '@reeve/kit/truncate-text.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { blake2b256 } from '@reeve/kit/hash.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  triggersEvaluations,
  LIMITS,
  nextNodeStatus,
  refusal,
  registrationProblem,
  withNodeEvent,
  type JoinLimits,
  type NodeJoinTokenRow,
  type NodeRow,
  type Refusal,
  isEqual,
} from '../../model/index.ts'
import {
  nodeEvaluations,
  put,
  withDerivedRows,
  withVolumeRows,
  type Change,
  type Stamp,
  type Tables,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { nodePoolRow } from '../node-pools.ts'
import { checkJoinToken, type JoinProof } from './join-tokens.ts'
import { checkRevocation } from './node-credentials.ts'

/** An admitted node, with the proof that admits it. */
interface NodeAdmissionResult {
  /** Undefined for a new node. */
  readonly existing: NodeRow | undefined
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
  const { existing, secretHash, proof } = admitted.value
  const status = statusAfterHello(store.tables, existing)
  const token = proof === 'shared' ? undefined : proof
  const { durable } = store.commit({
    by: 'system',
    cause: 'NodeRegistration',
    changes: (stamp) => [
      ...registrationRows(context, {
        node: hello.node,
        nodeTimeMs: hello.timeMs,
        existing,
        secretHash,
        token,
        status,
        stamp,
      }),
      ...(token === undefined ? [] : [usedTokenChange(token, hello.node.ID, stamp)]),
    ],
  })
  await durable
  return ok(undefined)
}

/** Returns the reason for refusing a registering node, or its admission. */
export function admitNode(
  context: WorkloadContext,
  { node, region, secret, joinToken }: HelloMessage,
): Result<NodeAdmissionResult, Refusal> {
  const { store, sealer } = context
  if (region !== undefined && region !== context.region)
    return err(refusal('permission-denied', wrongRegionMessage(region, context.region)))
  const secretHash = sealer.hash(secret)
  const revoked = checkRevocation(store.tables, { nodeId: node.ID, secretHash })
  if (revoked !== undefined) return err(revoked)
  const existing = store.tables.nodes.find(node.ID)
  if (existing !== undefined && !isSecretOf(existing, secretHash))
    return err(refusal('permission-denied', `the secret of node ${node.ID} is another one`))
  const proof = existing === undefined ? checkJoinToken(context, joinToken) : undefined
  if (proof?.ok === false) return proof
  const limits = proof === undefined ? existing?.JoinedAs : joinLimitsOf(proof.value)
  const refused = validateDescription(context, node, limits)
  if (refused !== undefined) return err(refused)
  return ok({ existing, secretHash, ...(proof === undefined ? {} : { proof: proof.value }) })
}

function isSecretOf({ SecretHash, NextSecretHashes = [] }: NodeRow, hash: string): boolean {
  return SecretHash === hash || NextSecretHashes.includes(hash)
}

function joinLimitsOf(proof: JoinProof): JoinLimits | undefined {
  return proof === 'shared' ? undefined : proof
}

/** Validates a node's description, at registration and at each update. */
function validateDescription(
  { store }: WorkloadContext,
  node: NodeRegistration,
  limits: JoinLimits | undefined,
): Refusal | undefined {
  const problem =
    registrationProblem(node) ??
    joinLimitProblem(node, limits) ??
    poolProblem(store.tables, node.NodePool)
  return problem === undefined ? undefined : refusal('invalid-input', problem)
}

function joinLimitProblem(
  node: NodeRegistration,
  limits: JoinLimits | undefined,
): string | undefined {
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

function usedTokenChange(
  { SecretHash, ...token }: NodeJoinTokenRow,
  nodeId: string,
  stamp: Stamp,
): Change {
  const used = { UsedBy: nodeId, UsedAt: isoFromMs(stamp.timeMs) }
  return put('node_join_tokens', { ...token, SecretHash, ...used })
}

function wrongRegionMessage(given: string, own: string): string {
  const what = `this node is of region "${given}" and these servers are of "${own}"`
  return `${what}: start it with region = "${own}", or let it join servers of its own region`
}

interface RegistrationInput {
  readonly node: NodeRegistration
  /** The node's clock; undefined if it was not reported. */
  readonly nodeTimeMs?: number | undefined
  readonly existing: NodeRow | undefined
  readonly secretHash: string
  /** The single-use token that admitted a new node. */
  readonly token?: JoinLimits | undefined
  readonly status: NodeStatus
  readonly stamp: Stamp
}

function registrationRows(context: WorkloadContext, registration: RegistrationInput): Change[] {
  const { existing, stamp } = registration
  const { tables } = context.store
  const withNameEvent = withDuplicateNameEvent(tables, registeredRow(registration), registration)
  const row = withClockSkewEvent(withNameEvent, registration)
  // An unknown pool is created with its first node.
  const pool = tables.node_pools.has(row.NodePool)
    ? []
    : [put('node_pools', nodePoolRow({ Name: row.NodePool }))]
  const needsEvaluations =
    triggersEvaluations(existing?.Status, row.Status) ||
    (existing !== undefined && affectsPlacement(existing, row))
  const evaluations = needsEvaluations
    ? nodeEvaluations(tables, row, { stamp, ids: context.ids })
    : []
  const changes = withVolumeRows(tables, [put('nodes', row)], stamp)
  return withDerivedRows(tables, [...changes, ...pool, ...evaluations])
}

/** Returns the status after a hello, which depends on whether the node was away. */
function statusAfterHello(tables: Tables, existing: NodeRow | undefined): NodeStatus {
  return nextNodeStatus(existing?.Status, 'hello', {
    awaitsReports: existing !== undefined && hasLiveAllocation(tables, existing.ID),
    // The pool is created with the registration.
    hasPool: true,
    mayReconnect: false,
  })
}

function hasLiveAllocation({ allocations }: Tables, nodeId: string): boolean {
  for (const id of allocations.keysByIndex('node', nodeId))
    if (allocations.indexKeyOf('live', id) !== undefined) return true
  return false
}

/**
 * Adds an event if another node has the same name. Names need not be unique, but operators might
 * confuse the nodes.
 */
function withDuplicateNameEvent(
  tables: Tables,
  row: NodeRow,
  { existing, stamp }: RegistrationInput,
): NodeRow {
  if (existing?.Name === row.Name) return row
  const [other] = [...tables.nodes.keysByIndex('name', row.Name)].filter((id) => id !== row.ID)
  if (other === undefined) return row
  const message = `Node has the same name as node ${other}`
  const event = { subsystem: 'Cluster', message } as const
  return { ...row, Events: withNodeEvent(row.Events, event, stamp) }
}

/** Minimum difference between the clocks of node and servers that is reported. */
const CLOCK_SKEW_MS_MAX = 5_000
const CLOCK_SKEW_TEXT = 'The clock of this node is'

/**
 * Adds an event if the node's clock differs: the times it reports are compared with those of
 * servers.
 */
function withClockSkewEvent(row: NodeRow, { nodeTimeMs, stamp }: RegistrationInput): NodeRow {
  const skewMs = nodeTimeMs === undefined ? 0 : nodeTimeMs - stamp.timeMs
  if (Math.abs(skewMs) <= CLOCK_SKEW_MS_MAX) return row
  // A node that reconnects repeatedly would fill the list with the same event.
  if (row.Events.at(-1)?.Message.startsWith(CLOCK_SKEW_TEXT) === true) return row
  const seconds = Math.round(Math.abs(skewMs) / 1_000)
  const direction = skewMs > 0 ? 'ahead of' : 'behind'
  const message = `${CLOCK_SKEW_TEXT} ${seconds} s ${direction} that of the servers`
  const event = { subsystem: 'Cluster', message } as const
  return { ...row, Events: withNodeEvent(row.Events, event, stamp) }
}

function registeredRow(registration: RegistrationInput): NodeRow {
  const { existing, secretHash, token, status, stamp } = registration
  const node = sanitizedDescription(registration.node)
  const message = existing === undefined ? 'Node registered' : 'Node re-registered'
  const wasAway =
    existing === undefined || (existing.Status !== 'ready' && existing.Status !== status)
  const before = existing?.Events ?? []
  const events = wasAway ? withNodeEvent(before, { subsystem: 'Cluster', message }, stamp) : before
  const newStatus = { StatusDescription: '', StatusUpdatedAt: Math.floor(stamp.timeMs / 1000) }
  const { StatusDescription, StatusUpdatedAt } = existing?.Status === status ? existing : newStatus
  return {
    ...node,
    ...secretFields(existing, secretHash),
    ...joinedAsField(existing, token),
    Resources: null,
    Reserved: null,
    ComputedClass: computedClass(node),
    Drain: existing?.Drain ?? false,
    DrainStrategy: existing?.DrainStrategy ?? null,
    LastDrain: existing?.LastDrain ?? null,
    SchedulingEligibility: existing?.SchedulingEligibility ?? 'eligible',
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
function secretFields(
  existing: NodeRow | undefined,
  SecretHash: string,
): Pick<NodeRow, 'SecretHash' | 'NextSecretHashes'> {
  const offered = existing?.SecretHash === SecretHash ? existing.NextSecretHashes : undefined
  return { SecretHash, ...(offered === undefined ? {} : { NextSecretHashes: offered }) }
}

function joinedAsField(
  existing: NodeRow | undefined,
  token: JoinLimits | undefined,
): Pick<NodeRow, 'JoinedAs'> {
  if (existing?.JoinedAs !== undefined) return { JoinedAs: existing.JoinedAs }
  const { NodeName = '', NodePool = '' } = token ?? {}
  return NodeName === '' && NodePool === '' ? {} : { JoinedAs: { NodeName, NodePool } }
}

/** Returns the description without unknown fields, and with health messages cut to one line. */
function sanitizedDescription(node: NodeRegistration): NodeRegistration {
  // Every field of a NodeRegistration, as its schema lists them.
  const { Drivers, ...rest } = Object.fromEntries(
    REGISTRATION_FIELDS.map((field) => [field, node[field]]),
  ) as NodeRegistration
  const drivers = Object.entries(Drivers).map(([name, info]) => {
    const text = info.HealthDescription.replaceAll(/\p{Cc}+/gu, ' ')
    const HealthDescription = truncateText(text, LIMITS.nodeHealthTextCharsMax)
    return [name, { ...info, HealthDescription }] as const
  })
  return { ...rest, Drivers: Object.fromEntries(drivers) }
}

// The keys of an object type are its property names.
const REGISTRATION_FIELDS = Object.keys(
  NodeRegistration.properties,
) as readonly (keyof NodeRegistration)[]

/**
 * Updates the description of a node, with new attributes or resources; its status is unchanged. An
 * invalid description is refused as at registration.
 */
export async function updateNode(
  context: WorkloadContext,
  node: NodeRegistration,
): Promise<Result<void, Refusal>> {
  const existing = context.store.tables.nodes.find(node.ID)
  if (existing === undefined) return ok(undefined)
  const refused = validateDescription(context, node, existing.JoinedAs)
  if (refused !== undefined) return err(refused)
  const { SecretHash: secretHash, Status: status } = existing
  const { durable } = context.store.commit({
    by: 'system',
    cause: 'NodeRegistration',
    changes: (stamp) => registrationRows(context, { node, existing, secretHash, status, stamp }),
  })
  await durable
  return ok(undefined)
}

/**
 * Prefix of attributes and meta that are unique per node and would make every node its own class.
 */
const UNIQUE_NAME_PREFIX = 'unique.'

/**
 * Hash of the properties relevant for scheduling. Nodes of one class are interchangeable for the
 * scheduler, so a node rejected by a constraint need not be checked again for the others.
 */
function computedClass(node: NodeRegistration): string {
  const sharedEntries = (map: Readonly<Record<string, string>> | null): [string, string][] =>
    Object.entries(map ?? {})
      .filter(([name]) => !name.startsWith(UNIQUE_NAME_PREFIX))
      .toSorted(([a], [b]) => compareText(a, b))
  const drivers = Object.entries(node.Drivers)
    .filter(([, driver]) => driver.Detected && driver.Healthy)
    .map(([name]) => name)
    .toSorted(compareText)
  const devices = (node.NodeResources.Devices ?? []).map((device) => [
    device.Vendor,
    device.Type,
    device.Name,
  ])
  const fields = [
    node.Datacenter,
    node.NodePool,
    node.NodeClass,
    sharedEntries(node.Attributes),
    sharedEntries(node.Meta),
    drivers,
    devices,
  ]
  return `v1:${blake2b256(JSON.stringify(fields)).slice(0, 22)}`
}

type NodeDescription = Pick<
  NodeRow,
  'Drivers' | 'NodeResources' | (typeof CONSTRAINT_FIELDS)[number]
>

/**
 * Fields that jobs can reference in constraints; a change of capacity alone only unblocks
 * evaluations.
 */
const CONSTRAINT_FIELDS = [
  'Name',
  'Datacenter',
  'NodePool',
  'NodeClass',
  'Attributes',
  'Meta',
  'HostVolumes',
] as const satisfies readonly (keyof Node)[]

/** Reports whether a change of a node's description requires evaluating the jobs on it. */
function affectsPlacement(before: NodeDescription, after: NodeDescription): boolean {
  return (
    CONSTRAINT_FIELDS.some((name) => !isEqual(before[name], after[name])) ||
    !isEqual(comparableDrivers(before), comparableDrivers(after)) ||
    !isEqual(before.NodeResources.Devices, after.NodeResources.Devices)
  )
}

/** Removes the time and description of driver fingerprints, which are no change. */
function comparableDrivers({ Drivers }: Pick<NodeRow, 'Drivers'>): object {
  return Object.fromEntries(
    Object.entries(Drivers).map(([name, { Attributes, Detected, Healthy }]) => [
      name,
      { Attributes, Detected, Healthy },
    ]),
  )
}
