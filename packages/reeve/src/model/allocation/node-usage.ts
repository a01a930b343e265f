import type { AllocatedDevice, AllocatedResources, TaskLifecycle } from '@reeve/contract'

/**
 * Resources of one node that allocations use. An allocation is added when it is placed and removed
 * when its node reports it terminal: until then it occupies the node, whatever its desired status.
 */
export interface NodeUsage {
  readonly cpuShares: number
  readonly memoryMB: number
  readonly diskMB: number
  /**
   * Exclusively allocated cores, with the number of allocations that hold them: a stopping
   * allocation and its replacement may share one.
   */
  readonly cores: ReadonlyMap<number, number>
  /** Host ports by `<address>:<number>`; allocations may collide here as well. */
  readonly ports: ReadonlyMap<string, number>
  /** Device instances by `deviceKey`. */
  readonly devices: ReadonlyMap<string, number>
}

export const NO_USAGE: NodeUsage = {
  cpuShares: 0,
  memoryMB: 0,
  diskMB: 0,
  cores: new Map(),
  ports: new Map(),
  devices: new Map(),
}

/** Resources that one allocation is charged with. */
export interface ResourceCharge {
  readonly cpuShares: number
  readonly memoryMB: number
  readonly diskMB: number
  readonly cores: readonly number[]
  readonly ports: readonly string[]
  readonly devices: readonly string[]
}

export function portKey(address: string, port: number): string {
  return `${address}:${port}`
}

/** Returns the key of one instance of a node's device. */
export function deviceKey(
  { Vendor, Type, Name }: Pick<AllocatedDevice, 'Vendor' | 'Type' | 'Name'>,
  id: string,
): string {
  return `${Vendor}/${Type}/${Name}/${id}`
}

export function addToUsage(usage: NodeUsage, charge: ResourceCharge): NodeUsage {
  return applyCharge(usage, charge, 1)
}

export function removeFromUsage(usage: NodeUsage, charge: ResourceCharge): NodeUsage {
  return applyCharge(usage, charge, -1)
}

/**
 * Adds or subtracts a charge. Maps are copied only if they change: most allocations use nothing in
 * them.
 */
function applyCharge(usage: NodeUsage, charge: ResourceCharge, sign: 1 | -1): NodeUsage {
  return {
    cpuShares: usage.cpuShares + sign * charge.cpuShares,
    memoryMB: usage.memoryMB + sign * charge.memoryMB,
    diskMB: usage.diskMB + sign * charge.diskMB,
    cores: adjustHolders(usage.cores, charge.cores, sign),
    ports: adjustHolders(usage.ports, charge.ports, sign),
    devices: adjustHolders(usage.devices, charge.devices, sign),
  }
}

function adjustHolders<T>(
  holders: ReadonlyMap<T, number>,
  keys: readonly T[],
  sign: 1 | -1,
): ReadonlyMap<T, number> {
  if (keys.length === 0) return holders
  const next = new Map(holders)
  for (const key of keys) {
    const count = (next.get(key) ?? 0) + sign
    if (count > 0) next.set(key, count)
    else next.delete(key)
  }
  return next
}

/** Cache of the last result: allocations of one plan often share the same object. */
let lastCharge:
  | { readonly allocated: AllocatedResources; readonly charge: ResourceCharge }
  | undefined

export function chargeOf(allocated: AllocatedResources): ResourceCharge {
  if (lastCharge?.allocated === allocated) return lastCharge.charge
  const charge = computeCharge(allocated)
  lastCharge = { allocated, charge }
  return charge
}

function computeCharge(allocated: AllocatedResources): ResourceCharge {
  const { Tasks, TaskLifecycles, Shared } = allocated
  const tasks = Object.entries(Tasks)
  const demands = tasks.map(([name, task]) => ({
    lifecycle: TaskLifecycles[name] ?? null,
    cpuShares: task.Cpu.CpuShares,
    memoryMB: task.Memory.MemoryMB,
    hasReservedCores: (task.Cpu.ReservedCores?.length ?? 0) > 0,
  }))
  return {
    ...peakDemand(demands),
    diskMB: Shared.DiskMB,
    cores: tasks.flatMap(([, task]) => task.Cpu.ReservedCores ?? []),
    ports: [...sharedPorts(allocated), ...taskPorts(allocated)],
    devices: tasks.flatMap(([, task]) => (task.Devices ?? []).flatMap(instanceKeys)),
  }
}

function instanceKeys(device: AllocatedDevice): readonly string[] {
  return device.DeviceIDs.map((id) => deviceKey(device, id))
}

function sharedPorts({ Shared }: AllocatedResources): readonly string[] {
  return (Shared.Ports ?? []).map((port) => portKey(port.HostIP, port.Value))
}

function taskPorts({ Tasks }: AllocatedResources): readonly string[] {
  return Object.values(Tasks).flatMap((task) =>
    (task.Networks ?? []).flatMap((network) =>
      [...(network.ReservedPorts ?? []), ...(network.DynamicPorts ?? [])].map((port) =>
        portKey(network.IP, port.Value),
      ),
    ),
  )
}

/** Resources that one task needs while it runs. */
export interface TaskDemand {
  readonly lifecycle: TaskLifecycle | null
  readonly cpuShares: number
  readonly memoryMB: number
  /** True if it has exclusive cores, which no other task can use while it does not run. */
  readonly hasReservedCores: boolean
}

/**
 * Returns the peak demand of a group: its tasks do not all run at the same time, so it is charged
 * with the maximum over the phases of its lifecycle.
 */
export function peakDemand(tasks: readonly TaskDemand[]): { cpuShares: number; memoryMB: number } {
  const [single] = tasks
  // Fast path for the most common group: this runs for every allocation that is written.
  if (single !== undefined && tasks.length === 1)
    return { cpuShares: single.cpuShares, memoryMB: single.memoryMB }
  const phases = [runsInPrestart, runsInMain, runsInPoststop].map((runsInPhase) => {
    const running = tasks.filter((task) => task.hasReservedCores || runsInPhase(task.lifecycle))
    return {
      cpuShares: running.reduce((sum, task) => sum + task.cpuShares, 0),
      memoryMB: running.reduce((sum, task) => sum + task.memoryMB, 0),
    }
  })
  return {
    cpuShares: Math.max(...phases.map((phase) => phase.cpuShares)),
    memoryMB: Math.max(...phases.map((phase) => phase.memoryMB)),
  }
}

function runsInPrestart(lifecycle: TaskLifecycle | null): boolean {
  return lifecycle?.Hook === 'prestart'
}

function runsInMain(lifecycle: TaskLifecycle | null): boolean {
  if (lifecycle === null || lifecycle.Hook === 'poststart') return true
  return lifecycle.Hook === 'prestart' && lifecycle.Sidecar
}

function runsInPoststop(lifecycle: TaskLifecycle | null): boolean {
  return lifecycle?.Hook === 'poststop'
}

/**
 * Resources used on many nodes, as one column per dimension: scanning all nodes of a cluster reads
 * columns instead of objects. Each node has a slot in them.
 */
export interface UsageColumns {
  readonly cpuShares: Float64Array
  readonly memoryMB: Float64Array
  readonly diskMB: Float64Array
  /** Not zero if allocations use cores, ports or devices; the node's usage contains them. */
  readonly hasDiscreteUsage: Uint8Array
  /** Returns the slot of a node, which is stable while this object is the view's. */
  slotOf(nodeId: string): number
}
