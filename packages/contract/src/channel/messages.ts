import { Type } from 'typebox'
import {
  WatchUpdateMessage,
  ServicesAck,
  ServicesMessage,
  UnwatchMessage,
  WatchMessage,
} from './services.ts'
import { MigrateMessage, NoDataMessage } from './data-migration.ts'
import { OpenMessage, ReplyMessage, RequestMessage } from './requests.ts'
import { Index, MapOf, Nullable, type Infer } from '../schema.ts'
import {
  AllocationDeploymentStatus,
  AllocationNetworkStatus,
  AllocationRecord,
  CLIENT_STATUSES,
} from '../v1/allocation.ts'
import { Uuid } from '../v1/shared-schemas.ts'
import { Job } from '../v1/job.ts'
import { Node } from '../v1/node.ts'
import { TaskEvent, TaskState } from '../v1/task-state.ts'

/**
 * Messages between an agent and a server: one WebSocket per node, dialled by the agent, one
 * JSON object per text frame, distinguished by `kind`. Either side ignores kinds and fields that it
 * does not know.
 *
 *   agent                               server
 *     hello  ──────────────────────────►           first, once
 *            ◄──────────────────────── welcome     or refuse, then close
 *            ◄──────────────────────── desired     everything (full), in one part or several
 *     status ──────────────────────────►           state of every allocation
 *            ◄──────────────────────── ack         then the next status may follow
 *     heartbeat ───────────────────────►
 *            ◄──────────────────────── heartbeat   always answered
 *            ◄──────────────────────── desired     what changed since, in order
 *     node   ──────────────────────────►           the machine changed
 *            ◄──────────────────────── request     and open: see channel/requests.ts
 *     reply  ──────────────────────────►
 *     services, watch ─────────────────►           and what follows: see channel/services.ts
 *     migrate ─────────────────────────►           see channel/data-migration.ts
 */
export const NODE_CHANNEL_PATH = '/v1/internal/node'

/**
 * Supported versions of the protocol between nodes and servers. A new version is added for a change
 * that the other side cannot safely ignore; the previous one stays as long as adjacent minor
 * versions are compatible (docs/explanation/compatibility-promise.md).
 */
export const CHANNEL_VERSIONS: VersionRange = { oldest: 1, newest: 1 }

/** Channel version that a hello announces first; channel-version.ts holds the supported range. */
export const CHANNEL_VERSION = CHANNEL_VERSIONS.newest

/** Close reason of a server that shuts down in order; it may be back in a moment. */
export const SERVER_STOPS = 'the server stops'

/** Attributes that a node reports about itself; the servers add the rest of a Node. */
export const NodeRegistration = Type.Object(
  Type.Pick(Node, [
    'ID',
    'Name',
    'Datacenter',
    'NodePool',
    'NodeClass',
    'HTTPAddr',
    'TLSEnabled',
    'Attributes',
    'Meta',
    'Links',
    'NodeResources',
    'ReservedResources',
    'Drivers',
    'HostVolumes',
    'HostNetworks',
    'CgroupParent',
  ]).properties,
  { description: 'A machine as its agent describes it.' },
)
export type NodeRegistration = Infer<typeof NodeRegistration>

export const HelloMessage = Type.Object({
  kind: Type.Literal('hello'),
  version: Type.Integer({ description: 'The newest version of the channel that the node speaks.' }),
  oldestVersion: Type.Optional(
    Type.Integer({ description: 'The oldest one that it speaks; absent: no other.' }),
  ),
  node: NodeRegistration,
  secret: Uuid('Made by the node and known to it alone; proves that it is the same node again.'),
  joinToken: Type.Optional(
    Type.String({ description: 'Lets a node in that the servers do not know.' }),
  ),
  region: Type.Optional(
    Type.String({ description: 'Where the node belongs: to servers of that region alone.' }),
  ),
  timeMs: Type.Optional(
    Type.Integer({ description: 'The clock of the node, in milliseconds since the Unix epoch.' }),
  ),
})
export type HelloMessage = Infer<typeof HelloMessage>

export const HeartbeatMessage = Type.Object({ kind: Type.Literal('heartbeat') })

/**
 * A TaskState without the fields that have their zero value. Most have, and a state with events
 * has hundreds of them.
 */
export const ReportedTaskState = Type.Partial(
  Type.Object({ ...TaskState.properties, Events: Type.Array(Type.Partial(TaskEvent)) }),
)
export type ReportedTaskState = Infer<typeof ReportedTaskState>

/** Status update of one allocation. Absent fields are unchanged. */
export const AllocationUpdate = Type.Object({
  ID: Uuid(),
  ClientStatus: Type.Enum(CLIENT_STATUSES),
  ClientDescription: Type.String(),
  TaskStates: Nullable(MapOf(ReportedTaskState)),
  DeploymentStatus: Type.Optional(Nullable(AllocationDeploymentStatus)),
  DeploymentID: Type.Optional(
    Type.String({
      description: 'Deployment that the health was measured for; any other deployment ignores it.',
    }),
  ),
  NetworkStatus: Type.Optional(AllocationNetworkStatus),
})
export type AllocationUpdate = Infer<typeof AllocationUpdate>

/**
 * Status updates of a node. At most one message is unacknowledged; later changes are merged into
 * the next one, the latest per allocation.
 */
export const StatusMessage = Type.Object({
  kind: Type.Literal('status'),
  seq: Type.Integer({ minimum: 1, description: 'Counts up on one channel.' }),
  updates: Type.Array(AllocationUpdate),
})
export type StatusMessage = Infer<typeof StatusMessage>

export const NodeMessage = Type.Object({ kind: Type.Literal('node'), node: NodeRegistration })

export const AgentMessage = Type.Union([
  HelloMessage,
  HeartbeatMessage,
  StatusMessage,
  NodeMessage,
  ReplyMessage,
  ServicesMessage,
  WatchMessage,
  UnwatchMessage,
  MigrateMessage,
])
export type AgentMessage = Infer<typeof AgentMessage>

export const WelcomeMessage = Type.Object({
  kind: Type.Literal('welcome'),
  version: Type.Optional(
    Type.Integer({ description: 'The version of the channel that both sides speak from now on.' }),
  ),
  heartbeatMs: Type.Integer({ minimum: 1, description: 'Time between two heartbeats.' }),
  serverTimeMs: Type.Integer({ description: 'Used to detect clock skew.' }),
  region: Type.Optional(
    Type.String({
      description: 'Region of the servers; a node without a configured region belongs to it.',
    }),
  ),
})
export type WelcomeMessage = Infer<typeof WelcomeMessage>

/** Response to a heartbeat. The time to the next one changes with the number of nodes. */
export const HeartbeatReply = Type.Object({
  kind: Type.Literal('heartbeat'),
  heartbeatMs: Type.Integer({ minimum: 1 }),
})

/**
 * Fields of an allocation that an agent needs and may read; placement metrics are not among them.
 */
export const AssignedAllocation = Type.Pick(AllocationRecord, [
  'ID',
  'Name',
  'Namespace',
  'JobID',
  'JobVersion',
  'TaskGroup',
  'DesiredStatus',
  'DesiredDescription',
  'DesiredTransition',
  'ClientStatus',
  'PreviousAllocation',
  'PreemptedAllocations',
  'AllocatedResources',
  'DeploymentID',
  'DeploymentStatus',
  'AllocModifyIndex',
  'CreateTime',
])
export type AssignedAllocation = Infer<typeof AssignedAllocation>

/** An allocation that the agent should run. */
export interface DesiredAllocation {
  readonly allocation: AssignedAllocation
  readonly job: Job
}

/**
 * Wire form of DesiredAllocation. Either `job` or `jobOf` gives the job, so that a message carries
 * each job once.
 */
export const DesiredEntry = Type.Object({
  allocation: AssignedAllocation,
  job: Type.Optional(Job),
  jobOf: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Position of the entry of the same message that carries the job.',
    }),
  ),
})

/**
 * Allocations that the node should run. With `full` the listing is complete, so allocations that
 * it does not name may be removed. A listing too long for one message continues (`more`) and takes
 * effect only when its last part has arrived. Without `full` the message holds changes.
 */
export const DesiredMessage = Type.Object({
  kind: Type.Literal('desired'),
  full: Type.Boolean(),
  more: Type.Optional(Type.Boolean({ description: 'The listing goes on in the next message.' })),
  index: Index('State that this message shows.'),
  allocations: Type.Array(DesiredEntry),
  traces: Type.Optional(
    MapOf(
      Type.String({ description: 'The `traceparent` of an allocation whose start is traced.' }),
    ),
  ),
  removed: Type.Array(Type.String(), {
    description: 'Allocations that the servers have purged: the node stops and removes them.',
  }),
})
export type DesiredMessage = Infer<typeof DesiredMessage>

export const AckMessage = Type.Object({ kind: Type.Literal('ack'), seq: Type.Integer() })

/**
 * Rejection of a node; the server closes the channel after it. The agent retries later, because
 * the cause may have been fixed.
 */
export const RefuseMessage = Type.Object({ kind: Type.Literal('refuse'), message: Type.String() })

export const ServerMessage = Type.Union([
  WelcomeMessage,
  HeartbeatReply,
  DesiredMessage,
  AckMessage,
  RefuseMessage,
  RequestMessage,
  OpenMessage,
  ServicesAck,
  WatchUpdateMessage,
  NoDataMessage,
])
export type ServerMessage = Infer<typeof ServerMessage>

/** The range of protocol versions that one side supports, inclusive. */
export interface VersionRange {
  readonly oldest: number
  readonly newest: number
}

/** Returns the newest version that both sides support; undefined if there is none. */
export function commonVersion(local: VersionRange, remote: VersionRange): number | undefined {
  const newest = Math.min(local.newest, remote.newest)
  return newest >= Math.max(local.oldest, remote.oldest) ? newest : undefined
}

/** Explains why a server rejects a node, and which of the two to upgrade. */
export function describeMismatch(server: VersionRange, node: VersionRange): string {
  const older = node.newest < server.oldest ? 'the node' : 'the servers'
  return (
    `this server speaks ${formatRange(server)} of the node channel and the node speaks ` +
    `${formatRange(node)}; upgrade ${older}, one minor version at a time`
  )
}

function formatRange({ oldest, newest }: VersionRange): string {
  return oldest === newest ? `version ${newest}` : `versions ${oldest} to ${newest}`
}
