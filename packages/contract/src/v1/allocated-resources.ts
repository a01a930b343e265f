import * as t from './shared-schemas.ts'
import { AllocatedPort, NetworkResource } from './network.ts'
import { TaskLifecycle } from './task.ts'

/** Entries of `Resources`, `SharedResources` and `TaskResources`. */
export const ResourceTotals = t.Named('ResourceTotals', {
  CPU: t.Integer(),
  MemoryMB: t.Integer(),
  DiskMB: t.Integer(),
  Networks: t.Nullable(t.Array(NetworkResource)),
})
export type ResourceTotals = t.Infer<typeof ResourceTotals>

export const AllocatedDevice = t.Named('AllocatedDevice', {
  Vendor: t.String(),
  Type: t.String(),
  Name: t.String(),
  DeviceIDs: t.Array(t.String()),
})
export type AllocatedDevice = t.Infer<typeof AllocatedDevice>

export const AllocatedTaskResources = t.Named('AllocatedTaskResources', {
  Cpu: t.Object({ CpuShares: t.Integer(), ReservedCores: t.Nullable(t.Array(t.Integer())) }),
  Memory: t.Object({ MemoryMB: t.Integer(), MemoryMaxMB: t.Integer() }),
  Networks: t.Nullable(t.Array(NetworkResource)),
  Devices: t.Nullable(t.Array(AllocatedDevice)),
})
export type AllocatedTaskResources = t.Infer<typeof AllocatedTaskResources>

export const AllocatedSharedResources = t.Named('AllocatedSharedResources', {
  Networks: t.Nullable(t.Array(NetworkResource)),
  DiskMB: t.Integer(),
  Ports: t.Nullable(t.Array(AllocatedPort)),
})

export const AllocatedResources = t.Object(
  {
    Tasks: t.MapOf(AllocatedTaskResources),
    TaskLifecycles: t.MapOf(t.Nullable(TaskLifecycle)),
    Shared: AllocatedSharedResources,
  },
  { $id: 'AllocatedResources', description: 'Resources of a node that an allocation holds.' },
)
export type AllocatedResources = t.Infer<typeof AllocatedResources>
