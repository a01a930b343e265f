import { Type } from 'typebox'
import {
  Named,
  Index,
  MapOf,
  Nanoseconds,
  Nullable,
  Timestamp,
  type Input,
  type Infer,
} from '../schema.ts'
import { ResourceTotals } from './allocated-resources.ts'
import { OpaqueObject, Uuid } from './shared-schemas.ts'
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

export const DeviceAttribute = Named('DeviceAttribute', 'Exactly one of the values is not null.', {
  String: Nullable(Type.String()),
  Int: Nullable(Type.Integer()),
  Float: Nullable(Type.Number()),
  Bool: Nullable(Type.Boolean()),
  Unit: Type.String(),
})
export type DeviceAttribute = Infer<typeof DeviceAttribute>

export const NodeDevice = Named('NodeDevice', 'Equal devices of a node.', {
  Vendor: Type.String(),
  Type: Type.String(),
  Name: Type.String(),
  Instances: Type.Array(
    Type.Object({ ID: Type.String(), Healthy: Type.Boolean(), HealthDescription: Type.String() }),
  ),
  Attributes: Nullable(MapOf(DeviceAttribute)),
})
export type NodeDevice = Infer<typeof NodeDevice>

export const NodeNetwork = Named('NodeNetwork', {
  Mode: Type.String(),
  Device: Type.String(),
  MacAddress: Type.String(),
  Speed: Type.Integer(),
  Addresses: Nullable(
    Type.Array(
      Type.Object({
        Family: Type.String(),
        Alias: Type.String(),
        Address: Type.String(),
        ReservedPorts: Type.String(),
        Gateway: Type.String(),
      }),
    ),
  ),
})
export type NodeNetwork = Infer<typeof NodeNetwork>

export const NodeResources = Named('NodeResources', 'Resources of a node.', {
  Cpu: Type.Object({
    CpuShares: Type.Integer({ description: 'MHz.' }),
    TotalCpuCores: Type.Integer(),
    ReservableCpuCores: Nullable(Type.Array(Type.Integer())),
  }),
  Processors: Nullable(OpaqueObject('Topology of the processors.')),
  Memory: Type.Object({ MemoryMB: Type.Integer() }),
  Disk: Type.Object({ DiskMB: Type.Integer() }),
  Devices: Nullable(Type.Array(NodeDevice)),
  NodeNetworks: Nullable(Type.Array(NodeNetwork)),
  Networks: Nullable(Type.Array(NetworkResource)),
  MinDynamicPort: Type.Integer(),
  MaxDynamicPort: Type.Integer(),
})
export type NodeResources = Infer<typeof NodeResources>

export const NodeReservedResources = Type.Object(
  {
    Cpu: Type.Object({
      CpuShares: Type.Integer(),
      ReservedCpuCores: Nullable(Type.Array(Type.Integer())),
    }),
    Memory: Type.Object({ MemoryMB: Type.Integer() }),
    Disk: Type.Object({ DiskMB: Type.Integer() }),
    Networks: Type.Object({
      ReservedHostPorts: Type.String({ description: 'Such as `22,80,8500-8600`.' }),
    }),
  },
  { $id: 'NodeReservedResources', description: 'Resources that a node reserves for the system.' },
)

export const DrainSpec = Named('DrainSpec', {
  Deadline: Nanoseconds('When the rest is stopped; 0 never, below 0 at once.'),
  IgnoreSystemJobs: Type.Boolean(),
})
export type DrainSpec = Infer<typeof DrainSpec>

export const DrainStrategy = Named('DrainStrategy', 'A drain that is going on.', {
  Deadline: Nanoseconds(),
  IgnoreSystemJobs: Type.Boolean(),
  ForceDeadline: Timestamp('The zero time when there is none.'),
  StartedAt: Timestamp(),
})
export type DrainStrategy = Infer<typeof DrainStrategy>

export const DrainMetadata = Named('DrainMetadata', 'The last drain of a node.', {
  StartedAt: Timestamp(),
  UpdatedAt: Timestamp(),
  Status: Type.Enum(DRAIN_STATUSES),
  AccessorID: Type.String({ description: 'Accessor of the token that asked for it.' }),
  Meta: Nullable(MapOf(Type.String())),
})
export type DrainMetadata = Infer<typeof DrainMetadata>

export const NodeEvent = Named('NodeEvent', 'Something that happened to a node.', {
  Message: Type.String(),
  Subsystem: Type.String(),
  Details: Nullable(MapOf(Type.String())),
  Timestamp: Timestamp(),
  CreateIndex: Index(),
})
export type NodeEvent = Infer<typeof NodeEvent>

export const DriverInfo = Named('DriverInfo', {
  Attributes: Nullable(MapOf(Type.String())),
  Detected: Type.Boolean(),
  Healthy: Type.Boolean(),
  HealthDescription: Type.String(),
  UpdateTime: Timestamp(),
})
export type DriverInfo = Infer<typeof DriverInfo>

export const HostVolumeInfo = Named('HostVolumeInfo', {
  Name: Type.String(),
  Path: Type.String(),
  ReadOnly: Type.Boolean(),
  ID: Type.String(),
})

export const HostNetworkInfo = Named('HostNetworkInfo', {
  Name: Type.String(),
  CIDR: Type.String(),
  Interface: Type.String(),
  ReservedPorts: Type.String(),
})

const sharedFields = {
  ID: Uuid(),
  Datacenter: Type.String(),
  Name: Type.String(),
  NodeClass: Type.String(),
  NodePool: Type.String(),
  Drain: Type.Boolean({ description: 'Whether a drain is going on.' }),
  SchedulingEligibility: Type.Enum(ELIGIBILITIES),
  Status: Type.Enum(NODE_STATUSES),
  StatusDescription: Type.String(),
  Drivers: MapOf(DriverInfo),
  HostVolumes: Nullable(MapOf(HostVolumeInfo)),
  LastDrain: Nullable(DrainMetadata),
  CreateIndex: Index(),
  ModifyIndex: Index(),
}

export const Node = Named('Node', 'A machine that runs allocations.', {
  ...sharedFields,
  HTTPAddr: Type.String(),
  SecretID: Type.String({ description: 'Always empty: the secret never leaves the servers.' }),
  TLSEnabled: Type.Boolean(),
  Attributes: MapOf(Type.String()),
  NodeResources: NodeResources,
  ReservedResources: NodeReservedResources,
  Resources: Nullable(ResourceTotals),
  Reserved: Nullable(ResourceTotals),
  Links: Nullable(MapOf(Type.String())),
  Meta: Nullable(MapOf(Type.String())),
  ComputedClass: Type.String({ description: 'Equal for nodes that placement cannot tell apart.' }),
  DrainStrategy: Nullable(DrainStrategy),
  StatusUpdatedAt: Type.Integer({ description: 'Unix seconds.' }),
  Events: Type.Array(NodeEvent, { description: 'The latest 10.' }),
  CSIControllerPlugins: Nullable(OpaqueObject('Storage plugins, by name.')),
  CSINodePlugins: Nullable(OpaqueObject('Storage plugins, by name.')),
  HostNetworks: Nullable(MapOf(HostNetworkInfo)),
  CgroupParent: Type.String(),
})
export type Node = Infer<typeof Node>

export const NodeStub = Named('NodeStub', 'A node in a list.', {
  ...sharedFields,
  Address: Type.String({ description: 'The host part of `HTTPAddr`.' }),
  Version: Type.String({ description: 'Version of the agent.' }),
  Attributes: Type.Optional(MapOf(Type.String())),
  NodeResources: Type.Optional(NodeResources),
  ReservedResources: Type.Optional(NodeReservedResources),
})
export type NodeStub = Infer<typeof NodeStub>

export const NodeDrainRequest = Named('NodeDrainRequest', 'Without `DrainSpec` the drain ends.', {
  DrainSpec: Nullable(DrainSpec),
  MarkEligible: Type.Boolean({ description: 'When a drain is ended: take work again.' }),
  Meta: Nullable(MapOf(Type.String())),
})
export type NodeDrainRequest = Input<Infer<typeof NodeDrainRequest>>

export const NodeEligibilityRequest = Named('NodeEligibilityRequest', {
  Eligibility: Type.String({ description: '`eligible` or `ineligible`.' }),
})

export const NodeUpdateResponse = Named('NodeUpdateResponse', {
  EvalIDs: Nullable(Type.Array(Type.String())),
  EvalCreateIndex: Index(),
  NodeModifyIndex: Index(),
  Index: Index(),
})
export type NodeUpdateResponse = Infer<typeof NodeUpdateResponse>

export const NodeEvaluateResponse = Named('NodeEvaluateResponse', {
  ...NodeUpdateResponse.properties,
  HeartbeatTTL: Nanoseconds(),
})
export type NodeEvaluateResponse = Infer<typeof NodeEvaluateResponse>
