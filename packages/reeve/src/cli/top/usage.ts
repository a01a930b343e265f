import type { Client } from '@reeve/sdk'
import { ApiError, ConnectionError } from '@reeve/sdk'

const MIB = 1024 * 1024

/** Requests per refresh, to limit the load on a large cluster. */
const NODES_MAX = 24
const ALLOCATIONS_MAX = 24
/** Number of allocations measured in every refresh: the busiest ones. */
const BUSIEST_MAX = 12
/** Timeout of a request to a node. */
const REQUEST_TIMEOUT_MS = 2_000

interface Usage {
  /** In MHz. */
  readonly cpu: number
  /** In MB. */
  readonly memory: number
}

interface MeasuredTargets {
  readonly nodes: readonly string[]
  readonly allocations: readonly { readonly ID: string; readonly Namespace: string }[]
}

/**
 * Samples the resource usage of nodes and allocations. Each node must be queried: the busiest
 * allocations are measured every time, the others in rotation.
 */
export class UsageSampler {
  readonly #nodes = new Map<string, Usage>()
  readonly #allocations = new Map<string, Usage>()
  #round = 0

  nodeUsage(id: string): Usage | undefined {
    return this.#nodes.get(id)
  }

  allocationUsage(id: string): Usage | undefined {
    return this.#allocations.get(id)
  }

  async measure(client: Client, { nodes, allocations }: MeasuredTargets, signal: AbortSignal) {
    retainKeys(this.#nodes, nodes)
    retainKeys(
      this.#allocations,
      allocations.map(({ ID }) => ID),
    )
    const chosen = this.#selectAllocations(allocations)
    const asked = [
      ...rotate(nodes, this.#round, NODES_MAX).map((id) => this.#measureNode(client, id, signal)),
      ...chosen.map((one) => this.#measureAllocation(client, one, signal)),
    ]
    this.#round += 1
    await Promise.all(asked)
  }

  #selectAllocations(allocations: MeasuredTargets['allocations']): MeasuredTargets['allocations'] {
    const busiest = new Set(
      allocations
        .filter(({ ID }) => this.#allocations.has(ID))
        .toSorted((a, b) => this.#cpuOf(b.ID) - this.#cpuOf(a.ID))
        .slice(0, BUSIEST_MAX),
    )
    const others = allocations.filter((one) => !busiest.has(one))
    return [...busiest, ...rotate(others, this.#round, ALLOCATIONS_MAX - busiest.size)]
  }

  #cpuOf(id: string): number {
    return this.#allocations.get(id)?.cpu ?? 0
  }

  async #measureNode(client: Client, id: string, signal: AbortSignal): Promise<void> {
    const query = { node_id: id }
    const use = await undefinedOnError(async () => {
      const { data } = await client.v1.readClientStats({
        query,
        signal,
        timeoutMs: REQUEST_TIMEOUT_MS,
      })
      return toUsage(data.CPUTicksConsumed, data.Memory.Used)
    })
    replace(this.#nodes, id, use)
  }

  async #measureAllocation(
    client: Client,
    { ID, Namespace }: MeasuredTargets['allocations'][number],
    signal: AbortSignal,
  ): Promise<void> {
    const call = { params: { alloc_id: ID }, query: { namespace: Namespace } }
    const use = await undefinedOnError(async () => {
      const { data } = await client.v1.readAllocationStats({
        ...call,
        signal,
        timeoutMs: REQUEST_TIMEOUT_MS,
      })
      const { CpuStats, MemoryStats } = data.ResourceUsage
      const bytes = MemoryStats.Usage > 0 ? MemoryStats.Usage : MemoryStats.RSS
      return toUsage(CpuStats.TotalTicks, bytes)
    })
    replace(this.#allocations, ID, use)
  }
}

/** Rounds to one decimal place. */
function toUsage(mhz: number, bytes: number): Usage {
  return { cpu: Math.round(mhz * 10) / 10, memory: Math.round((bytes / MIB) * 10) / 10 }
}

/** Returns the given number of items, rotating with each call. */
function rotate<T>(all: readonly T[], turn: number, max: number): readonly T[] {
  if (all.length <= max) return all
  const begin = (turn * max) % all.length
  return [...all.slice(begin), ...all.slice(0, begin)].slice(0, max)
}

/** Returns undefined if the node is unreachable or the request is denied. */
async function undefinedOnError<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (thrown) {
    if (thrown instanceof ApiError || thrown instanceof ConnectionError) return undefined
    throw thrown
  }
}

function replace<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

function retainKeys(map: Map<string, unknown>, ids: readonly string[]): void {
  const wanted = new Set(ids)
  for (const id of map.keys()) if (!wanted.has(id)) map.delete(id)
}
