import type { AllocatedResources, TaskLifecycle } from '@reeve/contract'

/**
 * What allocations hold of one node. Whoever keeps it current adds an allocation when it is placed
 * and removes it when the node says that it has ended: until then it occupies the node, whatever
 * the servers want (scheduling reference §9.1).
 */
export interface NodeUsage {
  readonly cpuShares: number
  readonly memoryMB: number
  readonly diskMB: number
  /** Cores that belong to one allocation alone. */
  readonly cores: ReadonlySet<number>
  /**
   * Ports of the host by `<address>:<number>`, with how many hold them: collisions may be allowed.
   */
  readonly ports: ReadonlyMap<string, number>
}

export const NO_USAGE: NodeUsage = {
  cpuShares: 0,
  memoryMB: 0,
  diskMB: 0,
  cores: new Set(),
  ports: new Map(),
}

/** What one allocation is charged with. */
export interface Charge {
  readonly cpuShares: number
  readonly memoryMB: number
  readonly diskMB: number
  readonly cores: readonly number[]
  readonly ports: readonly string[]
}

export function portKey(address: string, port: number): string {
  return `${address}:${port}`
}

export function addToUsage(usage: NodeUsage, charge: Charge): NodeUsage {
  return combine(usage, charge, 1)
}

export function removeFromUsage(usage: NodeUsage, charge: Charge): NodeUsage {
  return combine(usage, charge, -1)
}

/**
 * Sets and maps are copied only when they change: most allocations hold neither cores nor ports.
 */
function combine(usage: NodeUsage, charge: Charge, sign: 1 | -1): NodeUsage {
  return {
    cpuShares: usage.cpuShares + sign * charge.cpuShares,
    memoryMB: usage.memoryMB + sign * charge.memoryMB,
    diskMB: usage.diskMB + sign * charge.diskMB,
    cores: charge.cores.length === 0 ? usage.cores : withCores(usage.cores, charge.cores, sign),
    ports: charge.ports.length === 0 ? usage.ports : withPorts(usage.ports, charge.ports, sign),
  }
}

function withCores(
  held: ReadonlySet<number>,
  cores: readonly number[],
  sign: 1 | -1,
): ReadonlySet<number> {
  const next = new Set(held)
  for (const core of cores) {
    if (sign === 1) next.add(core)
    else next.delete(core)
  }
  return next
}

function withPorts(
  held: ReadonlyMap<string, number>,
  ports: readonly string[],
  sign: 1 | -1,
): ReadonlyMap<string, number> {
  const next = new Map(held)
  for (const port of ports) {
    const holders = (next.get(port) ?? 0) + sign
    if (holders > 0) next.set(port, holders)
    else next.delete(port)
  }
  return next
}

export function chargeOf(allocated: AllocatedResources): Charge {
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
  }
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
 * Tasks of one group do not all run at the same time (scheduling reference §9.4), so the group is
 * charged with the most that any phase of its life needs.
 */
export function peakDemand(tasks: readonly TaskDemand[]): { cpuShares: number; memoryMB: number } {
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
