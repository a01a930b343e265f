import { assert } from '@reeve/kit/fault.ts'
import type { Random } from '@reeve/kit/clock.ts'
import { portKey, type NodeUsage, type PublicNode } from '../../model/index.ts'
import { hostAddresses, reservedPorts, type HostAddress } from './host-addresses.ts'
import type { PortAsk } from './port-ask.ts'

/** A port of the host given to an ask. */
export interface GivenPort {
  readonly ask: PortAsk
  readonly value: number
  readonly address: HostAddress
}

/** What a node has to give; worked out once for each node, because it does not change. */
export interface PortTable {
  readonly addresses: ReadonlyMap<string, HostAddress>
  readonly reserved: ReadonlySet<string>
  /** Dynamic ports are chosen from [min, max). */
  readonly min: number
  readonly max: number
}

const RANDOM_TRIES = 20
const DYNAMIC_MIN_DEFAULT = 20_000
const DYNAMIC_MAX_DEFAULT = 32_000

/** Rows never change, so what was read from one holds as long as the row does. */
const tables = new WeakMap<PublicNode, PortTable>()

export function portTable(node: PublicNode): PortTable {
  const known = tables.get(node)
  if (known !== undefined) return known
  const table = readTable(node)
  tables.set(node, table)
  return table
}

function readTable(node: PublicNode): PortTable {
  const addresses = new Map<string, HostAddress>()
  for (const address of hostAddresses(node))
    if (!addresses.has(address.alias)) addresses.set(address.alias, address)
  const { MinDynamicPort: min, MaxDynamicPort: max } = node.NodeResources
  return {
    addresses,
    reserved: reservedPorts(node),
    min: min > 0 ? min : DYNAMIC_MIN_DEFAULT,
    max: max > 0 ? max : DYNAMIC_MAX_DEFAULT,
  }
}

/** Why the node cannot give these ports; undefined when it can. */
export function portProblem(
  asks: readonly PortAsk[],
  table: PortTable,
  usage: NodeUsage,
): string | undefined {
  const taken = takenPorts(table, usage)
  const wanted = new Map<string, number>()
  for (const ask of asks) {
    const address = table.addresses.get(ask.HostNetwork)
    if (address === undefined) return `network: no address in host network ${ask.HostNetwork}`
    if (!ask.isStatic) {
      wanted.set(address.address, (wanted.get(address.address) ?? 0) + 1)
      continue
    }
    const key = portKey(address.address, ask.Value)
    if (!ask.IgnoreCollision && taken.has(key))
      return `network: reserved port collision ${ask.Label}=${ask.Value}`
    taken.add(key)
  }
  for (const [address, count] of wanted)
    if (!hasFree(address, count, { table, taken })) return 'network: dynamic port selection failed'
  return undefined
}

/** Gives each ask its port. The node must have been found to be able to. */
export function givePorts(
  asks: readonly PortAsk[],
  options: { readonly table: PortTable; readonly usage: NodeUsage; readonly random: Random },
): readonly GivenPort[] {
  const { table, usage, random } = options
  const taken = takenPorts(table, usage)
  const lowest = new Map<string, number>()
  return asks.map((ask) => {
    const address = table.addresses.get(ask.HostNetwork)
    assert(address !== undefined, 'a node without the host network was refused before')
    const value = ask.isStatic
      ? ask.Value
      : chooseDynamic(address.address, { table, taken, random, lowest })
    taken.add(portKey(address.address, value))
    return { ask, value, address }
  })
}

interface Taken {
  readonly table: PortTable
  readonly taken: TakenPorts
}

interface DynamicChoice extends Taken {
  readonly random: Random
  /**
   * By address, the port below which none is free: ports are only taken here, so that the search
   * goes on where it ended. From the first port each time, ten thousand ports would take seconds.
   */
  readonly lowest: Map<string, number>
}

function chooseDynamic(address: string, options: DynamicChoice): number {
  const { table, taken, random, lowest } = options
  const size = table.max - table.min
  let tried: number | undefined
  for (let attempt = 0; attempt < RANDOM_TRIES; attempt++) {
    const port = table.min + Math.floor(random.next() * size)
    // The chance of a dry run always says the same.
    if (port === tried) break
    tried = port
    if (!taken.has(portKey(address, port))) return port
  }
  for (let port = lowest.get(address) ?? table.min; port < table.max; port++)
    if (!taken.has(portKey(address, port))) {
      lowest.set(address, port)
      return port
    }
  throw new Error('invariant broken: a node without a free port was refused before')
}

/** Counts one by one only when the node is so full that it matters. */
function hasFree(address: string, count: number, { table, taken }: Taken): boolean {
  const size = table.max - table.min
  if (size - taken.size >= count) return true
  let free = 0
  for (let port = table.min; port < table.max && free < count; port++)
    if (!taken.has(portKey(address, port))) free += 1
  return free >= count
}

/** Ports held by others, kept by the node, or already given in this offer. */
interface TakenPorts {
  readonly size: number
  has(key: string): boolean
  add(key: string): void
}

function takenPorts(table: PortTable, usage: NodeUsage): TakenPorts {
  const given = new Set<string>()
  return {
    get size() {
      return given.size + usage.ports.size + table.reserved.size
    },
    has: (key) => given.has(key) || usage.ports.has(key) || table.reserved.has(key),
    add: (key) => given.add(key),
  }
}
