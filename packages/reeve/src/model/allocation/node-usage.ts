import type { AllocatedDevice, AllocatedResources, TaskLifecycle } from '@reeve/contract'

/**
 * What allocations hold of one node. Whoever keeps it current adds an allocation when it is placed
 * and removes it when the node says that it has ended: until then it occupies the node, whatever
 * the servers want.
 */
export interface NodeUsage {
  readonly cpuShares: number
  readonly memoryMB: number
  readonly diskMB: number
  /**
   * Cores that belong to one allocation alone, with how many hold them: one that is about to end
   * and the one that comes in its place both do.
   */
  readonly cores: ReadonlyMap<number, number>
  /** Ports of the host by `<address>:<number>`; here collisions may also be allowed. */
  readonly ports: ReadonlyMap<string, number>
  /** Instances of devices, by `deviceKey`. */
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

/** What one allocation is charged with. */
export interface Charge {
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

/** Names one instance of a device of a node. */
export function deviceKey(
  { Vendor, Type, Name }: Pick<AllocatedDevice, 'Vendor' | 'Type' | 'Name'>,
  id: string,
): string {
  return `${Vendor}/${Type}/${Name}/${id}`
}

export function addToUsage(usage: NodeUsage, charge: Charge): NodeUsage {
  return combine(usage, charge, 1)
}

export function removeFromUsage(usage: NodeUsage, charge: Charge): NodeUsage {
  return combine(usage, charge, -1)
}

/** Maps are copied only when they change: most allocations hold nothing that is in them. */
function combine(usage: NodeUsage, charge: Charge, sign: 1 | -1): NodeUsage {
  return {
    cpuShares: usage.cpuShares + sign * charge.cpuShares,
    memoryMB: usage.memoryMB + sign * charge.memoryMB,
    diskMB: usage.diskMB + sign * charge.diskMB,
    cores: withHolders(usage.cores, charge.cores, sign),
    ports: withHolders(usage.ports, charge.ports, sign),
    devices: withHolders(usage.devices, charge.devices, sign),
  }
}

function withHolders<T>(
  held: ReadonlyMap<T, number>,
  things: readonly T[],
  sign: 1 | -1,
): ReadonlyMap<T, number> {
  if (things.length === 0) return held
  const next = new Map(held)
  for (const thing of things) {
    const holders = (next.get(thing) ?? 0) + sign
    if (holders > 0) next.set(thing, holders)
    else next.delete(thing)
  }
  return next
}

/** Allocations of one plan are often given the very same, so the last answer is kept. */
let last: { readonly allocated: AllocatedResources; readonly charge: Charge } | undefined

export function chargeOf(allocated: AllocatedResources): Charge {
  if (last?.allocated === allocated) return last.charge
  const charge = readCharge(allocated)
  last = { allocated, charge }
  return charge
}

function readCharge(allocated: AllocatedResources): Charge {
  const { Tasks, TaskLifecycles, Shared } = allocated
  const tasks = Object.entries(Tasks)
  const demands = tasks.map(([name, task]) => ({
    lifecycle: TaskLifecycles[name] ?? null,
    cpuShares: task.Cpu.CpuShares,
    memoryMB: task.Memory.MemoryMB,
    pinned: (task.Cpu.ReservedCores?.length ?? 0) > 0,
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

/** What one task needs while it runs. */
export interface TaskDemand {
  readonly lifecycle: TaskLifecycle | null
  readonly cpuShares: number
  readonly memoryMB: number
  /** Has cores of its own, which nobody else can use while it does not run. */
  readonly pinned: boolean
}

/**
 * Tasks of one group do not all run at the same time, so the group is charged with the most that
 * any phase of its life needs.
 */
export function peakDemand(tasks: readonly TaskDemand[]): { cpuShares: number; memoryMB: number } {
  const [only] = tasks
  // By far the usual group, and asked for every allocation that is written.
  if (only !== undefined && tasks.length === 1)
    return { cpuShares: only.cpuShares, memoryMB: only.memoryMB }
  const phases = [before, during, after].map((runs) => {
    const running = tasks.filter((task) => task.pinned || runs(task.lifecycle))
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

function before(lifecycle: TaskLifecycle | null): boolean {
  return lifecycle?.Hook === 'prestart'
}

function during(lifecycle: TaskLifecycle | null): boolean {
  if (lifecycle === null || lifecycle.Hook === 'poststart') return true
  return lifecycle.Hook === 'prestart' && lifecycle.Sidecar
}

function after(lifecycle: TaskLifecycle | null): boolean {
  return lifecycle?.Hook === 'poststop'
}
