import { Type } from 'typebox'
import {
  WatchUpdateMessage,
  ServicesAck,
  ServicesMessage,
  UnwatchMessage,
  WatchMessage,
} from './catalog.ts'
import { CHANNEL_VERSIONS } from './channel-version.ts'
import { MigrateMessage, NoDataMessage } from './migrate.ts'
import { OpenMessage, ReplyMessage, RequestMessage } from './remote.ts'
import { Index, MapOf, Nullable, type Infer } from './shape.ts'
import {
  AllocationDeploymentStatus,
  AllocationNetworkStatus,
  AllocationRecord,
  CLIENT_STATUSES,
} from './v1/allocation.ts'
import { Uuid } from './v1/identifier.ts'
import { Job } from './v1/job.ts'
import { Node } from './v1/node.ts'
import { TaskEvent, TaskState } from './v1/task-state.ts'

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
 *            ◄──────────────────────── request     and open: see remote.ts
 *     reply  ──────────────────────────►
 *     services, watch ─────────────────►           and what follows: see catalog.ts
 *     migrate ─────────────────────────►           see migrate.ts
 */
export const NODE_CHANNEL_PATH = '/v1/internal/node'

/** Channel version that a hello announces first; channel-version.ts holds the supported range. */
export const CHANNEL_VERSION = CHANNEL_VERSIONS.newest

/** Close reason of a server that shuts down in order; it may be back in a moment. */
export const SERVER_STOPS = 'the server stops'

/**
 * Maximum size of a message; a larger one closes the channel. A job may be 4 MiB, so an allocation
 * with its job always fits.
 */
export const CHANNEL_MESSAGE_BYTES_MAX = 8 * 1024 * 1024

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
export type HeartbeatReply = Infer<typeof HeartbeatReply>

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
 * Wire form of DesiredAllocation. Either `job` or `jobKeyOf` gives the job, so that a message carries
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
export type DesiredEntry = Infer<typeof DesiredEntry>

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
export type AckMessage = Infer<typeof AckMessage>

/**
 * Rejection of a node; the server closes the channel after it. The agent retries later, because
 * the cause may have been fixed.
 */
export const RefuseMessage = Type.Object({ kind: Type.Literal('refuse'), message: Type.String() })
export type RefuseMessage = Infer<typeof RefuseMessage>

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
