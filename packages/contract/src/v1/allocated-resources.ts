import { Type } from 'typebox'
import { Named, MapOf, Nullable, type Infer } from '../schema.ts'
import { AllocatedPort, NetworkResource } from './network.ts'
import { TaskLifecycle } from './task.ts'

/** Entries of `Resources`, `SharedResources` and `TaskResources`. */
export const ResourceTotals = Named('ResourceTotals', {
  CPU: Type.Integer(),
  MemoryMB: Type.Integer(),
  DiskMB: Type.Integer(),
  Networks: Nullable(Type.Array(NetworkResource)),
})
export type ResourceTotals = Infer<typeof ResourceTotals>

export const AllocatedDevice = Named('AllocatedDevice', {
  Vendor: Type.String(),
  Type: Type.String(),
  Name: Type.String(),
  DeviceIDs: Type.Array(Type.String()),
})
export type AllocatedDevice = Infer<typeof AllocatedDevice>

export const AllocatedTaskResources = Named('AllocatedTaskResources', {
  Cpu: Type.Object({
    CpuShares: Type.Integer(),
    ReservedCores: Nullable(Type.Array(Type.Integer())),
  }),
  Memory: Type.Object({ MemoryMB: Type.Integer(), MemoryMaxMB: Type.Integer() }),
  Networks: Nullable(Type.Array(NetworkResource)),
  Devices: Nullable(Type.Array(AllocatedDevice)),
})
export type AllocatedTaskResources = Infer<typeof AllocatedTaskResources>

export const AllocatedSharedResources = Named('AllocatedSharedResources', {
  Networks: Nullable(Type.Array(NetworkResource)),
  DiskMB: Type.Integer(),
  Ports: Nullable(Type.Array(AllocatedPort)),
})

export const AllocatedResources = Type.Object(
  {
    Tasks: MapOf(AllocatedTaskResources),
    TaskLifecycles: MapOf(Nullable(TaskLifecycle)),
    Shared: AllocatedSharedResources,
  },
  { $id: 'AllocatedResources', description: 'Resources of a node that an allocation holds.' },
)
export type AllocatedResources = Infer<typeof AllocatedResources>
