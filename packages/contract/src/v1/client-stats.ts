import { Type } from 'typebox'
import { routes } from '../route.ts'
import { unreplicatedRead, collectGarbage, put } from './define.ts'
import { Named, MapOf, Nanoseconds, Nullable, type Infer } from '../schema.ts'
import {
  emptyResponse,
  jsonResponse,
  textError,
  nodeTimeout,
  OpaqueObject,
} from './shared-schemas.ts'
import { TextParameter } from './query.ts'

export const MemoryUsage = Named('MemoryUsage', 'In bytes.', {
  RSS: Type.Integer(),
  Cache: Type.Integer(),
  Swap: Type.Integer(),
  MappedFile: Type.Integer(),
  Usage: Type.Integer(),
  MaxUsage: Type.Integer(),
  KernelUsage: Type.Integer(),
  KernelMaxUsage: Type.Integer(),
  Measured: Type.Array(Type.String(), { description: 'Which of the values were measured.' }),
})

export const CpuUsage = Named('CpuUsage', {
  SystemMode: Type.Number(),
  UserMode: Type.Number(),
  TotalTicks: Type.Number({ description: 'MHz used.' }),
  ThrottledPeriods: Type.Integer(),
  ThrottledTime: Nanoseconds(),
  Percent: Type.Number(),
  Measured: Type.Array(Type.String(), { description: 'Which of the values were measured.' }),
})

export const ResourceUsage = Named('ResourceUsage', {
  MemoryStats: MemoryUsage,
  CpuStats: CpuUsage,
  DeviceStats: Nullable(Type.Array(OpaqueObject('Statistics of one group of devices.'))),
})
export type ResourceUsage = Infer<typeof ResourceUsage>

export const TaskUsage = Named('TaskUsage', {
  ResourceUsage: ResourceUsage,
  Timestamp: Nanoseconds(),
  Pids: Nullable(MapOf(ResourceUsage)),
})
export type TaskUsage = Infer<typeof TaskUsage>

export const AllocationUsage = Type.Object(
  { ResourceUsage: ResourceUsage, Tasks: MapOf(TaskUsage), Timestamp: Nanoseconds() },
  { $id: 'AllocationUsage', description: 'Current resource usage of an allocation.' },
)
export type AllocationUsage = Infer<typeof AllocationUsage>

export const CHECK_STATUSES = ['success', 'failure', 'pending'] as const
export type CheckStatus = (typeof CHECK_STATUSES)[number]

export const CheckResult = Named('CheckResult', 'The latest result of one health check.', {
  ID: Type.String(),
  Mode: Type.String({ description: '`healthiness` or `readiness`.' }),
  Status: Type.Enum(CHECK_STATUSES),
  StatusCode: Type.Optional(Type.Integer()),
  Output: Type.String(),
  Timestamp: Type.Integer({ description: 'Unix seconds.' }),
  Group: Type.String(),
  Task: Type.Optional(Type.String()),
  Service: Type.String(),
  Check: Type.String(),
})
export type CheckResult = Infer<typeof CheckResult>

export const DiskUsage = Named('DiskUsage', 'In bytes.', {
  Device: Type.String(),
  Mountpoint: Type.String(),
  Size: Type.Integer(),
  Used: Type.Integer(),
  Available: Type.Integer(),
  UsedPercent: Type.Number(),
  InodesUsedPercent: Type.Number(),
})
export type DiskUsage = Infer<typeof DiskUsage>

export const HostUsage = Named('HostUsage', 'Current resource usage of a node.', {
  Memory: Type.Object({
    Total: Type.Integer(),
    Available: Type.Integer(),
    Used: Type.Integer(),
    Free: Type.Integer(),
  }),
  CPU: Type.Array(
    Type.Object({
      CPU: Type.String(),
      User: Type.Number(),
      System: Type.Number(),
      Idle: Type.Number(),
      TotalPercent: Type.Number(),
    }),
  ),
  DiskStats: Type.Array(DiskUsage),
  AllocDirStats: DiskUsage,
  DeviceStats: Nullable(Type.Array(OpaqueObject('Statistics of one group of devices.'))),
  Uptime: Type.Integer({ description: 'Seconds.' }),
  Timestamp: Nanoseconds(),
  CPUTicksConsumed: Type.Number(),
})
export type HostUsage = Infer<typeof HostUsage>

/** In force: the dynamic values over the static ones, which the configuration of the node has. */
export const NodeMeta = Type.Object(
  {
    Meta: MapOf(Type.String()),
    Dynamic: MapOf(Nullable(Type.String())),
    Static: MapOf(Type.String()),
  },
  {
    $id: 'NodeMeta',
    description:
      'The metadata of a node: in force, as requests have set it (null hides a value of the ' +
      'configuration), and as the configuration has it.',
  },
)
export type NodeMeta = Infer<typeof NodeMeta>

const NodeMetaRequest = Type.Object(
  {
    NodeID: Type.Optional(Type.String({ description: 'In place of `node_id`.' })),
    Meta: MapOf(Nullable(Type.String())),
  },
  {
    $id: 'NodeMetaRequest',
    description: 'Values to set; null removes one, and others stay as they are.',
  },
)

const nodeQuery = {
  node_id: TextParameter('The node; needed when the agent that answers is none itself.'),
}
const noNode = textError('`No local Node and node_id not provided`')

export const clientStatsRoutes = routes('Nodes', {
  readClientStats: unreplicatedRead('/client/stats', {
    summary: 'Read what a node uses now.',
    answeredBy: 'leader',
    query: nodeQuery,
    returns: jsonResponse(HostUsage, 'The usage.'),
    answers: { 400: noNode, 504: nodeTimeout },
    errors: { 404: 'The node is unknown or cannot be reached.' },
    needs: 'node:read',
  }),
  readNodeMeta: unreplicatedRead('/client/metadata', {
    summary: 'Read the metadata of a node.',
    answeredBy: 'leader',
    query: nodeQuery,
    returns: jsonResponse(NodeMeta, 'The metadata.'),
    answers: { 400: noNode, 504: nodeTimeout },
    errors: { 404: 'The node is unknown or cannot be reached.' },
    needs: 'node:read',
  }),
  applyNodeMeta: put('/client/metadata', {
    summary: 'Change the metadata of a node; it keeps the change when it starts again.',
    growsState: false,
    answeredBy: 'leader',
    audit: 'always',
    query: nodeQuery,
    body: NodeMetaRequest,
    returns: jsonResponse(NodeMeta, 'The metadata.'),
    answers: { 504: nodeTimeout },
    errors: {
      400: 'No node is named, or a name or value is invalid.',
      404: 'The node is unknown or cannot be reached.',
    },
    needs: 'node:write',
  }),
  collectClient: collectGarbage('/client/gc', {
    summary: 'Remove what ended allocations left on a node.',
    growsState: false,
    answeredBy: 'leader',
    audit: 'always',
    query: nodeQuery,
    returns: emptyResponse('It is removed.'),
    answers: { 400: noNode, 504: nodeTimeout },
    errors: { 404: 'The node is unknown or cannot be reached.' },
    needs: 'node:write',
  }),
})
