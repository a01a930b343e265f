import * as t from './shared-schemas.ts'
import { ResourceTotals } from './allocated-resources.ts'
import { NetworkResource } from './network.ts'

export const NODE_STATUSES = ['initializing', 'ready', 'down', 'disconnected'] as const
export type NodeStatus = (typeof NODE_STATUSES)[number]

export const ELIGIBILITIES = ['eligible', 'ineligible'] as const
export type Eligibility = (typeof ELIGIBILITIES)[number]

export const DRAIN_STATUSES = ['draining', 'complete', 'canceled'] as const
export type DrainStatus = (typeof DRAIN_STATUSES)[number]

export const NODE_EVENT_SUBSYSTEMS = [
  'Drain',
  'Driver',
  'Heartbeat',
  'Cluster',
  'Scheduler',
  'Storage',
] as const
export type NodeEventSubsystem = (typeof NODE_EVENT_SUBSYSTEMS)[number]

export const DeviceAttribute = t.Named(
  'DeviceAttribute',
  'Exactly one of the values is not null.',
  {
    String: t.Nullable(t.String()),
    Int: t.Nullable(t.Integer()),
    Float: t.Nullable(t.Number()),
    Bool: t.Nullable(t.Boolean()),
    Unit: t.String(),
  },
)
export type DeviceAttribute = t.Infer<typeof DeviceAttribute>

export const NodeDevice = t.Named('NodeDevice', 'Equal devices of a node.', {
  Vendor: t.String(),
  Type: t.String(),
  Name: t.String(),
  Instances: t.Array(
    t.Object({ ID: t.String(), Healthy: t.Boolean(), HealthDescription: t.String() }),
  ),
  Attributes: t.Nullable(t.MapOf(DeviceAttribute)),
})
export type NodeDevice = t.Infer<typeof NodeDevice>

export const NodeNetwork = t.Named('NodeNetwork', {
  Mode: t.String(),
  Device: t.String(),
  MacAddress: t.String(),
  Speed: t.Integer(),
  Addresses: t.Nullable(
    t.Array(
      t.Object({
        Family: t.String(),
        Alias: t.String(),
        Address: t.String(),
        ReservedPorts: t.String(),
        Gateway: t.String(),
      }),
    ),
  ),
})
export type NodeNetwork = t.Infer<typeof NodeNetwork>

export const NodeResources = t.Named('NodeResources', 'Resources of a node.', {
  Cpu: t.Object({
    CpuShares: t.Integer({ description: 'MHz.' }),
    TotalCpuCores: t.Integer(),
    ReservableCpuCores: t.Nullable(t.Array(t.Integer())),
  }),
  Processors: t.Nullable(t.OpaqueObject('Topology of the processors.')),
  Memory: t.Object({ MemoryMB: t.Integer() }),
  Disk: t.Object({ DiskMB: t.Integer() }),
  Devices: t.Nullable(t.Array(NodeDevice)),
  NodeNetworks: t.Nullable(t.Array(NodeNetwork)),
  Networks: t.Nullable(t.Array(NetworkResource)),
  MinDynamicPort: t.Integer(),
  MaxDynamicPort: t.Integer(),
})
export type NodeResources = t.Infer<typeof NodeResources>

export const NodeReservedResources = t.Object(
  {
    Cpu: t.Object({ CpuShares: t.Integer(), ReservedCpuCores: t.Nullable(t.Array(t.Integer())) }),
    Memory: t.Object({ MemoryMB: t.Integer() }),
    Disk: t.Object({ DiskMB: t.Integer() }),
    Networks: t.Object({
      ReservedHostPorts: t.String({ description: 'Such as `22,80,8500-8600`.' }),
    }),
  },
  { $id: 'NodeReservedResources', description: 'Resources that a node reserves for the system.' },
)

export const DrainSpec = t.Named('DrainSpec', {
  Deadline: t.Nanoseconds('When the rest is stopped; 0 never, below 0 at once.'),
  IgnoreSystemJobs: t.Boolean(),
})

export const DrainStrategy = t.Named('DrainStrategy', 'A drain that is going on.', {
  Deadline: t.Nanoseconds(),
  IgnoreSystemJobs: t.Boolean(),
  ForceDeadline: t.Timestamp('The zero time when there is none.'),
  StartedAt: t.Timestamp(),
})
export type DrainStrategy = t.Infer<typeof DrainStrategy>

export const DrainMetadata = t.Named('DrainMetadata', 'The last drain of a node.', {
  StartedAt: t.Timestamp(),
  UpdatedAt: t.Timestamp(),
  Status: t.Enum(DRAIN_STATUSES),
  AccessorID: t.String({ description: 'Accessor of the token that asked for it.' }),
  Meta: t.Nullable(t.MapOf(t.String())),
})
export type DrainMetadata = t.Infer<typeof DrainMetadata>

export const NodeEvent = t.Named('NodeEvent', 'Something that happened to a node.', {
  Message: t.String(),
  Subsystem: t.String(),
  Details: t.Nullable(t.MapOf(t.String())),
  Timestamp: t.Timestamp(),
  CreateIndex: t.Index(),
})
export type NodeEvent = t.Infer<typeof NodeEvent>

export const DriverInfo = t.Named('DriverInfo', {
  Attributes: t.Nullable(t.MapOf(t.String())),
  Detected: t.Boolean(),
  Healthy: t.Boolean(),
  HealthDescription: t.String(),
  UpdateTime: t.Timestamp(),
})
export type DriverInfo = t.Infer<typeof DriverInfo>

export const HostVolumeInfo = t.Named('HostVolumeInfo', {
  Name: t.String(),
  Path: t.String(),
  ReadOnly: t.Boolean(),
  ID: t.String(),
})

export const HostNetworkInfo = t.Named('HostNetworkInfo', {
  Name: t.String(),
  CIDR: t.String(),
  Interface: t.String(),
  ReservedPorts: t.String(),
})

const sharedFields = {
  ID: t.Uuid(),
  Datacenter: t.String(),
  Name: t.String(),
  NodeClass: t.String(),
  NodePool: t.String(),
  Drain: t.Boolean({ description: 'Whether a drain is going on.' }),
  SchedulingEligibility: t.Enum(ELIGIBILITIES),
  Status: t.Enum(NODE_STATUSES),
  StatusDescription: t.String(),
  Drivers: t.MapOf(DriverInfo),
  HostVolumes: t.Nullable(t.MapOf(HostVolumeInfo)),
  LastDrain: t.Nullable(DrainMetadata),
  CreateIndex: t.Index(),
  ModifyIndex: t.Index(),
}

export const Node = t.Named('Node', 'A machine that runs allocations.', {
  ...sharedFields,
  HTTPAddr: t.String(),
  SecretID: t.String({ description: 'Always empty: the secret never leaves the servers.' }),
  TLSEnabled: t.Boolean(),
  Attributes: t.MapOf(t.String()),
  NodeResources: NodeResources,
  ReservedResources: NodeReservedResources,
  Resources: t.Nullable(ResourceTotals),
  Reserved: t.Nullable(ResourceTotals),
  Links: t.Nullable(t.MapOf(t.String())),
  Meta: t.Nullable(t.MapOf(t.String())),
  ComputedClass: t.String({ description: 'Equal for nodes that placement cannot tell apart.' }),
  DrainStrategy: t.Nullable(DrainStrategy),
  StatusUpdatedAt: t.Integer({ description: 'Unix seconds.' }),
  Events: t.Array(NodeEvent, { description: 'The latest 10.' }),
  CSIControllerPlugins: t.Nullable(t.OpaqueObject('Storage plugins, by name.')),
  CSINodePlugins: t.Nullable(t.OpaqueObject('Storage plugins, by name.')),
  HostNetworks: t.Nullable(t.MapOf(HostNetworkInfo)),
  CgroupParent: t.String(),
})
export type Node = t.Infer<typeof Node>

export const NodeStub = t.Named('NodeStub', 'A node in a list.', {
  ...sharedFields,
  Address: t.String({ description: 'The host part of `HTTPAddr`.' }),
  Version: t.String({ description: 'Version of the agent.' }),
  Attributes: t.Optional(t.MapOf(t.String())),
  NodeResources: t.Optional(NodeResources),
  ReservedResources: t.Optional(NodeReservedResources),
})
export type NodeStub = t.Infer<typeof NodeStub>

export const NodeDrainRequest = t.Named('NodeDrainRequest', 'Without `DrainSpec` the drain ends.', {
  DrainSpec: t.Nullable(DrainSpec),
  MarkEligible: t.Boolean({ description: 'When a drain is ended: take work again.' }),
  Meta: t.Nullable(t.MapOf(t.String())),
})
export type NodeDrainRequest = t.Input<t.Infer<typeof NodeDrainRequest>>

export const NodeEligibilityRequest = t.Named('NodeEligibilityRequest', {
  Eligibility: t.String({ description: '`eligible` or `ineligible`.' }),
})

export const NodeUpdateResponse = t.Named('NodeUpdateResponse', {
  EvalIDs: t.Nullable(t.Array(t.String())),
  EvalCreateIndex: t.Index(),
  NodeModifyIndex: t.Index(),
  Index: t.Index(),
})
export type NodeUpdateResponse = t.Infer<typeof NodeUpdateResponse>

export const NodeEvaluateResponse = t.Named('NodeEvaluateResponse', {
  ...NodeUpdateResponse.properties,
  HeartbeatTTL: t.Nanoseconds(),
})
export type NodeEvaluateResponse = t.Infer<typeof NodeEvaluateResponse>
