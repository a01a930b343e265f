import type { AllocationStub, NodeStub } from '@reeve/contract'
import type { Client } from '@reeve/sdk'
import type { Measures } from './measures.ts'

/** Allocations that are looked at; a larger cluster is shown in part, and the picture says so. */
const ALLOCATIONS_MAX = 10_000

/** How much of something there is, was given away, and is really in use where that is known. */
export interface Share {
  readonly Capacity: number
  readonly Allocated: number
  readonly InUse: number | null
}

export interface NodeRow {
  readonly ID: string
  readonly Name: string
  readonly Status: string
  readonly Allocations: number
  /** In MHz. */
  readonly CPU: Share
  /** In MB. */
  readonly Memory: Share
}

export interface AllocationRow {
  readonly ID: string
  readonly Namespace: string
  readonly JobID: string
  readonly TaskGroup: string
  readonly NodeName: string
  readonly Status: string
  readonly CreateTime: number
  readonly CPU: Omit<Share, 'Capacity'>
  readonly Memory: Omit<Share, 'Capacity'>
}

type Counts = Readonly<Record<string, number>>

/** The cluster at one moment, as `--json` shows it too. */
export interface Cluster {
  readonly Address: string
  readonly Totals: {
    readonly Nodes: Counts
    readonly Jobs: Counts
    readonly Allocations: Counts
    readonly CPU: Share
    readonly Memory: Share
  }
  readonly Nodes: readonly NodeRow[]
  /** The busiest first. */
  readonly Allocations: readonly AllocationRow[]
  /** Whether there are more allocations than are looked at. */
  readonly HasMore: boolean
}

/** What the server was asked for. */
export interface ClusterRecords {
  readonly nodes: readonly NodeStub[]
  readonly allocations: readonly AllocationStub[]
  readonly jobStates: readonly string[]
  readonly hasMore: boolean
  /** Up to where the events are known by it. */
  readonly index: number
}

interface Asking {
  readonly namespace: string
  readonly signal: AbortSignal
}

export async function readRecords(client: Client, asking: Asking): Promise<ClusterRecords> {
  const { namespace, signal } = asking
  const query = { namespace, resources: true, task_states: false, filter: NOT_OVER }
  const [nodes, allocations, jobs] = await Promise.all([
    client.v1.listNodes({ query: { resources: true }, signal }),
    client.v1.listAllocations({ query: { ...query, per_page: ALLOCATIONS_MAX }, signal }),
    client.v1.listJobs({ query: { namespace }, signal }),
  ])
  return {
    nodes: nodes.data,
    allocations: allocations.data,
    hasMore: allocations.nextToken !== undefined,
    jobStates: jobs.data.map(({ Status }) => Status),
    index: Math.max(allocations.index ?? 0, jobs.index ?? 0),
  }
}

/** Those that have done their work are many, and nothing happens to them any more. */
const NOT_OVER = 'ClientStatus != "complete"'

/** Puts together what is shown. */
export function toCluster(address: string, records: ClusterRecords, measures: Measures): Cluster {
  const { nodes, allocations, jobStates } = records
  const holding = allocations.filter(holdsResources)
  const byNode = Map.groupBy(holding, ({ NodeID }) => NodeID)
  const rows = nodes.map((node) => toNodeRow(node, byNode.get(node.ID) ?? [], measures))
  const alive = rows.filter(({ Status }) => Status !== 'down')
  return {
    Address: address,
    Totals: {
      Nodes: countsOf(rows.map(({ Status }) => Status)),
      Jobs: countsOf(jobStates),
      Allocations: countsOf(allocations.map(({ ClientStatus }) => ClientStatus)),
      CPU: sumOf(alive.map(({ CPU }) => CPU)),
      Memory: sumOf(alive.map(({ Memory }) => Memory)),
    },
    Nodes: rows.toSorted((a, b) => byText(a.Name, b.Name) || byText(a.ID, b.ID)),
    Allocations: allocations.map((one) => toAllocationRow(one, measures)).toSorted(byLoad),
    HasMore: records.hasMore,
  }
}

/** Whether it counts on its node. */
export function holdsResources({ ClientStatus, DesiredStatus }: AllocationStub): boolean {
  if (ClientStatus === 'running' || ClientStatus === 'unknown') return true
  return ClientStatus === 'pending' && DesiredStatus === 'run'
}

function toNodeRow(
  node: NodeStub,
  allocations: readonly AllocationStub[],
  measures: Measures,
): NodeRow {
  const { NodeResources: has, ReservedResources: kept } = node
  const asked = allocations.map(askedOf)
  const use = measures.ofNode(node.ID)
  return {
    ID: node.ID,
    Name: node.Name,
    Status: nodeState(node),
    Allocations: allocations.length,
    CPU: {
      Capacity: (has?.Cpu.CpuShares ?? 0) - (kept?.Cpu.CpuShares ?? 0),
      Allocated: total(asked.map(({ cpu }) => cpu)),
      InUse: use?.cpu ?? null,
    },
    Memory: {
      Capacity: (has?.Memory.MemoryMB ?? 0) - (kept?.Memory.MemoryMB ?? 0),
      Allocated: total(asked.map(({ memory }) => memory)),
      InUse: use?.memory ?? null,
    },
  }
}

function nodeState({ Drain, Status, SchedulingEligibility }: NodeStub): string {
  if (Status !== 'ready') return Status
  if (Drain) return 'draining'
  return SchedulingEligibility === 'eligible' ? Status : SchedulingEligibility
}

function toAllocationRow(one: AllocationStub, measures: Measures): AllocationRow {
  const { cpu, memory } = askedOf(one)
  const use = one.ClientStatus === 'running' ? measures.ofAllocation(one.ID) : undefined
  return {
    ID: one.ID,
    Namespace: one.Namespace,
    JobID: one.JobID,
    TaskGroup: one.TaskGroup,
    NodeName: one.NodeName,
    Status: one.ClientStatus,
    CreateTime: one.CreateTime,
    CPU: { Allocated: cpu, InUse: use?.cpu ?? null },
    Memory: { Allocated: memory, InUse: use?.memory ?? null },
  }
}

function askedOf({ AllocatedResources }: AllocationStub): { cpu: number; memory: number } {
  const tasks = Object.values(AllocatedResources?.Tasks ?? {})
  return {
    cpu: total(tasks.map(({ Cpu }) => Cpu.CpuShares)),
    memory: total(tasks.map(({ Memory }) => Memory.MemoryMB)),
  }
}

/** What runs comes before what does not; then who uses most, asks for most, is newest. */
function byLoad(a: AllocationRow, b: AllocationRow): number {
  return (
    Number(b.Status === 'running') - Number(a.Status === 'running') ||
    Math.round(b.CPU.InUse ?? 0) - Math.round(a.CPU.InUse ?? 0) ||
    Math.round(b.Memory.InUse ?? 0) - Math.round(a.Memory.InUse ?? 0) ||
    b.CPU.Allocated - a.CPU.Allocated ||
    b.CreateTime - a.CreateTime ||
    byText(a.ID, b.ID)
  )
}

function countsOf(states: readonly string[]): Counts {
  const groups = [...Map.groupBy(states, (state) => state)]
  return Object.fromEntries(
    groups.map(([state, all]) => [state, all.length] as const).toSorted(([a], [b]) => byText(a, b)),
  )
}

function sumOf(shares: readonly Share[]): Share {
  const known = shares.flatMap(({ InUse }) => (InUse === null ? [] : [InUse]))
  return {
    Capacity: total(shares.map(({ Capacity }) => Capacity)),
    Allocated: total(shares.map(({ Allocated }) => Allocated)),
    InUse: known.length === 0 ? null : total(known),
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0)
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
