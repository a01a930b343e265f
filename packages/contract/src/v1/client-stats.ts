import * as t from './shared-schemas.ts'
import { nodeRead, collectGarbage, put, routes } from './define.ts'

export const MemoryUsage = t.Named('MemoryUsage', 'In bytes.', {
  RSS: t.Integer(),
  Cache: t.Integer(),
  Swap: t.Integer(),
  MappedFile: t.Integer(),
  Usage: t.Integer(),
  MaxUsage: t.Integer(),
  KernelUsage: t.Integer(),
  KernelMaxUsage: t.Integer(),
  Measured: t.Array(t.String(), { description: 'Which of the values were measured.' }),
})

export const CpuUsage = t.Named('CpuUsage', {
  SystemMode: t.Number(),
  UserMode: t.Number(),
  TotalTicks: t.Number({ description: 'MHz used.' }),
  ThrottledPeriods: t.Integer(),
  ThrottledTime: t.Nanoseconds(),
  Percent: t.Number(),
  Measured: t.Array(t.String(), { description: 'Which of the values were measured.' }),
})

export const ResourceUsage = t.Named('ResourceUsage', {
  MemoryStats: MemoryUsage,
  CpuStats: CpuUsage,
  DeviceStats: t.Nullable(t.Array(t.OpaqueObject('Statistics of one group of devices.'))),
})
export type ResourceUsage = t.Infer<typeof ResourceUsage>

export const TaskUsage = t.Named('TaskUsage', {
  ResourceUsage: ResourceUsage,
  Timestamp: t.Nanoseconds(),
  Pids: t.Nullable(t.MapOf(ResourceUsage)),
})
export type TaskUsage = t.Infer<typeof TaskUsage>

export const AllocationUsage = t.Object(
  { ResourceUsage: ResourceUsage, Tasks: t.MapOf(TaskUsage), Timestamp: t.Nanoseconds() },
  { $id: 'AllocationUsage', description: 'Current resource usage of an allocation.' },
)
export type AllocationUsage = t.Infer<typeof AllocationUsage>

export const CHECK_STATUSES = ['success', 'failure', 'pending'] as const
export type CheckStatus = (typeof CHECK_STATUSES)[number]

export const CheckResult = t.Named('CheckResult', 'The latest result of one health check.', {
  ID: t.String(),
  Mode: t.String({ description: '`healthiness` or `readiness`.' }),
  Status: t.Enum(CHECK_STATUSES),
  StatusCode: t.Optional(t.Integer()),
  Output: t.String(),
  Timestamp: t.Integer({ description: 'Unix seconds.' }),
  Group: t.String(),
  Task: t.Optional(t.String()),
  Service: t.String(),
  Check: t.String(),
})
export type CheckResult = t.Infer<typeof CheckResult>

export const DiskUsage = t.Named('DiskUsage', 'In bytes.', {
  Device: t.String(),
  Mountpoint: t.String(),
  Size: t.Integer(),
  Used: t.Integer(),
  Available: t.Integer(),
  UsedPercent: t.Number(),
  InodesUsedPercent: t.Number(),
})
export type DiskUsage = t.Infer<typeof DiskUsage>

export const HostUsage = t.Named('HostUsage', 'Current resource usage of a node.', {
  Memory: t.Object({
    Total: t.Integer(),
    Available: t.Integer(),
    Used: t.Integer(),
    Free: t.Integer(),
  }),
  CPU: t.Array(
    t.Object({
      CPU: t.String(),
      User: t.Number(),
      System: t.Number(),
      Idle: t.Number(),
      TotalPercent: t.Number(),
    }),
  ),
  DiskStats: t.Array(DiskUsage),
  AllocDirStats: DiskUsage,
  DeviceStats: t.Nullable(t.Array(t.OpaqueObject('Statistics of one group of devices.'))),
  Uptime: t.Integer({ description: 'Seconds.' }),
  Timestamp: t.Nanoseconds(),
  CPUTicksConsumed: t.Number(),
})
export type HostUsage = t.Infer<typeof HostUsage>

/** In force: the dynamic values over the static ones, which the configuration of the node has. */
export const NodeMeta = t.Object(
  {
    Meta: t.MapOf(t.String()),
    Dynamic: t.MapOf(t.Nullable(t.String())),
    Static: t.MapOf(t.String()),
  },
  {
    $id: 'NodeMeta',
    description:
      'The metadata of a node: in force, as requests have set it (null hides a value of the ' +
      'configuration), and as the configuration has it.',
  },
)
export type NodeMeta = t.Infer<typeof NodeMeta>

const NodeMetaRequest = t.Object(
  {
    NodeID: t.Optional(t.String({ description: 'In place of `node_id`.' })),
    Meta: t.MapOf(t.Nullable(t.String())),
  },
  {
    $id: 'NodeMetaRequest',
    description: 'Values to set; null removes one, and others stay as they are.',
  },
)

const nodeQuery = {
  node_id: t.TextParameter('The node; needed when the agent that answers is none itself.'),
}
const noNode = t.textError('`No local Node and node_id not provided`')

export const clientStatsRoutes = routes('Nodes', {
  readClientStats: nodeRead('/client/stats', {
    summary: 'Read what a node uses now.',
    query: nodeQuery,
    returns: t.jsonResponse(HostUsage, 'The usage.'),
    answers: { 400: noNode, 504: t.nodeTimeout },
    errors: { 404: 'The node is unknown or cannot be reached.' },
    needs: 'node:read',
  }),
  readNodeMeta: nodeRead('/client/metadata', {
    summary: 'Read the metadata of a node.',
    query: nodeQuery,
    returns: t.jsonResponse(NodeMeta, 'The metadata.'),
    answers: { 400: noNode, 504: t.nodeTimeout },
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
    returns: t.jsonResponse(NodeMeta, 'The metadata.'),
    answers: { 504: t.nodeTimeout },
    errors: {
      400: 'No node is named, or a name or value is invalid.',
      404: 'The node is unknown or cannot be reached.',
    },
    needs: 'node:write',
  }),
  collectClient: collectGarbage('/client/gc', {
    summary: 'Remove what ended allocations left on a node.',
    query: nodeQuery,
    returns: t.emptyResponse('It is removed.'),
    answers: { 400: noNode, 504: t.nodeTimeout },
    errors: { 404: 'The node is unknown or cannot be reached.' },
    needs: 'node:write',
  }),
})
