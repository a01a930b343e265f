import type { Client } from '@reeve/sdk'
import { ApiError, ConnectionError } from '@reeve/sdk'

const MIB = 1024 * 1024

/** What is asked for in one round: a picture of a large cluster must not become its load. */
const NODES_MAX = 24
const ALLOCATIONS_MAX = 24
/** Of these, those that used most the last time. */
const BUSIEST_MAX = 12
/** A node that does not answer holds nothing up. */
const ANSWER_MS = 2_000

interface Use {
  /** In MHz. */
  readonly cpu: number
  /** In MB. */
  readonly memory: number
}

interface Measured {
  readonly nodes: readonly string[]
  readonly allocations: readonly { readonly ID: string; readonly Namespace: string }[]
}

/**
 * What nodes and allocations really use. Only the nodes know, so each must be asked: the busiest
 * every time, the others in turns.
 */
export class Measures {
  readonly #nodes = new Map<string, Use>()
  readonly #allocations = new Map<string, Use>()
  #turn = 0

  ofNode(id: string): Use | undefined {
    return this.#nodes.get(id)
  }

  ofAllocation(id: string): Use | undefined {
    return this.#allocations.get(id)
  }

  async measure(client: Client, { nodes, allocations }: Measured, signal: AbortSignal) {
    keepOnly(this.#nodes, nodes)
    keepOnly(
      this.#allocations,
      allocations.map(({ ID }) => ID),
    )
    const chosen = this.#choose(allocations)
    const asked = [
      ...inTurn(nodes, this.#turn, NODES_MAX).map((id) => this.#measureNode(client, id, signal)),
      ...chosen.map((one) => this.#measureAllocation(client, one, signal)),
    ]
    this.#turn += 1
    await Promise.all(asked)
  }

  #choose(allocations: Measured['allocations']): Measured['allocations'] {
    const busiest = new Set(
      allocations
        .filter(({ ID }) => this.#allocations.has(ID))
        .toSorted((a, b) => this.#cpuOf(b.ID) - this.#cpuOf(a.ID))
        .slice(0, BUSIEST_MAX),
    )
    const others = allocations.filter((one) => !busiest.has(one))
    return [...busiest, ...inTurn(others, this.#turn, ALLOCATIONS_MAX - busiest.size)]
  }

  #cpuOf(id: string): number {
    return this.#allocations.get(id)?.cpu ?? 0
  }

  async #measureNode(client: Client, id: string, signal: AbortSignal): Promise<void> {
    const query = { node_id: id }
    const use = await orNothing(async () => {
      const { data } = await client.v1.readClientStats({ query, signal, timeoutMs: ANSWER_MS })
      return toUse(data.CPUTicksConsumed, data.Memory.Used)
    })
    replace(this.#nodes, id, use)
  }

  async #measureAllocation(
    client: Client,
    { ID, Namespace }: Measured['allocations'][number],
    signal: AbortSignal,
  ): Promise<void> {
    const call = { params: { alloc_id: ID }, query: { namespace: Namespace } }
    const use = await orNothing(async () => {
      const { data } = await client.v1.readAllocationStats({
        ...call,
        signal,
        timeoutMs: ANSWER_MS,
      })
      const { CpuStats, MemoryStats } = data.ResourceUsage
      const bytes = MemoryStats.Usage > 0 ? MemoryStats.Usage : MemoryStats.RSS
      return toUse(CpuStats.TotalTicks, bytes)
    })
    replace(this.#allocations, ID, use)
  }
}

/** More than a tenth is not worth reading. */
function toUse(mhz: number, bytes: number): Use {
  return { cpu: Math.round(mhz * 10) / 10, memory: Math.round((bytes / MIB) * 10) / 10 }
}

/** So many of them, others each time. */
function inTurn<T>(all: readonly T[], turn: number, max: number): readonly T[] {
  if (all.length <= max) return all
  const begin = (turn * max) % all.length
  return [...all.slice(begin), ...all.slice(0, begin)].slice(0, max)
}

/** A node that is gone, or a token that may not ask, leaves the column empty. */
async function orNothing<T>(ask: () => Promise<T>): Promise<T | undefined> {
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

function keepOnly(map: Map<string, unknown>, ids: readonly string[]): void {
  const wanted = new Set(ids)
  for (const id of map.keys()) if (!wanted.has(id)) map.delete(id)
}
