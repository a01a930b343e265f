import { allocationHealth, type AllocationStub, type NodeStub } from '@reeve/contract'
import type { Client } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import type { UsageSampler } from './usage.ts'

/** Maximum number of allocations to read; the screen says if there are more. */
const ALLOCATIONS_MAX = 10_000

/** Capacity, allocated amount and measured usage of a resource, if known. */
export interface ResourceShare {
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
  readonly CPU: ResourceShare
  /** In MB. */
  readonly Memory: ResourceShare
}

export interface AllocationRow {
  readonly ID: string
  readonly Namespace: string
  readonly JobID: string
  readonly TaskGroup: string
  readonly NodeName: string
  readonly Status: string
  readonly CreateTime: number
  readonly CPU: Omit<ResourceShare, 'Capacity'>
  readonly Memory: Omit<ResourceShare, 'Capacity'>
}

type Counts = Readonly<Record<string, number>>

/** State of the cluster, also printed with `--json`. */
export interface ClusterView {
  readonly Address: string
  readonly Totals: {
    readonly Nodes: Counts
    readonly Jobs: Counts
    readonly Allocations: Counts
    readonly CPU: ResourceShare
    readonly Memory: ResourceShare
  }
  readonly Nodes: readonly NodeRow[]
  /** The busiest first. */
  readonly Allocations: readonly AllocationRow[]
  /** Whether there are more allocations than were read. */
  readonly HasMore: boolean
}

/** Records read from the server. */
interface ClusterRecords {
  readonly nodes: readonly NodeStub[]
  readonly allocations: readonly AllocationStub[]
  readonly jobStates: readonly string[]
  readonly hasMore: boolean
  /** The commit index of the records. */
  readonly index: number
}

interface ReadOptions {
  readonly namespace: string
  readonly signal: AbortSignal
}

export async function readRecords(client: Client, asking: ReadOptions): Promise<ClusterRecords> {
  const { namespace, signal } = asking
  const query = { namespace, resources: true, task_states: false, filter: NOT_COMPLETE }
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

/** Excludes completed allocations, which are numerous and do not change. */
const NOT_COMPLETE = 'ClientStatus != "complete"'

/** Builds the view from records and usage. */
export function toClusterView(
  address: string,
  records: ClusterRecords,
  measures: UsageSampler,
): ClusterView {
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
    Nodes: rows.toSorted((a, b) => compareText(a.Name, b.Name) || compareText(a.ID, b.ID)),
    Allocations: allocations.map((one) => toAllocationRow(one, measures)).toSorted(compareLoad),
    HasMore: records.hasMore,
  }
}

/** Whether the allocation occupies resources of its node. */
function holdsResources({ ClientStatus, DesiredStatus }: AllocationStub): boolean {
  if (ClientStatus === 'running' || ClientStatus === 'unknown') return true
  return ClientStatus === 'pending' && DesiredStatus === 'run'
}

function toNodeRow(
  node: NodeStub,
  allocations: readonly AllocationStub[],
  measures: UsageSampler,
): NodeRow {
  const { NodeResources: capacity, ReservedResources: reserved } = node
  const allocated = allocations.map(allocatedResources)
  const use = measures.nodeUsage(node.ID)
  return {
    ID: node.ID,
    Name: node.Name,
    Status: nodeState(node),
    Allocations: allocations.length,
    CPU: {
      Capacity: (capacity?.Cpu.CpuShares ?? 0) - (reserved?.Cpu.CpuShares ?? 0),
      Allocated: total(allocated.map(({ cpu }) => cpu)),
      InUse: use?.cpu ?? null,
    },
    Memory: {
      Capacity: (capacity?.Memory.MemoryMB ?? 0) - (reserved?.Memory.MemoryMB ?? 0),
      Allocated: total(allocated.map(({ memory }) => memory)),
      InUse: use?.memory ?? null,
    },
  }
}

function nodeState({ Drain, Status, SchedulingEligibility }: NodeStub): string {
  if (Status !== 'ready') return Status
  if (Drain) return 'draining'
  return SchedulingEligibility === 'eligible' ? Status : SchedulingEligibility
}

function toAllocationRow(one: AllocationStub, measures: UsageSampler): AllocationRow {
  const { cpu, memory } = allocatedResources(one)
  const use = one.ClientStatus === 'running' ? measures.allocationUsage(one.ID) : undefined
  return {
    ID: one.ID,
    Namespace: one.Namespace,
    JobID: one.JobID,
    TaskGroup: one.TaskGroup,
    NodeName: one.NodeName,
    // Without task states, which are not read, the time has no influence.
    Status: allocationHealth(one, 0),
    CreateTime: one.CreateTime,
    CPU: { Allocated: cpu, InUse: use?.cpu ?? null },
    Memory: { Allocated: memory, InUse: use?.memory ?? null },
  }
}

function allocatedResources({ AllocatedResources }: AllocationStub): {
  cpu: number
  memory: number
} {
  const tasks = Object.values(AllocatedResources?.Tasks ?? {})
  return {
    cpu: total(tasks.map(({ Cpu }) => Cpu.CpuShares)),
    memory: total(tasks.map(({ Memory }) => Memory.MemoryMB)),
  }
}

/** Health of allocations whose tasks run. */
const RUNNING: ReadonlySet<string> = new Set(['running', 'healthy', 'unhealthy'])

/** Orders running allocations first, then by CPU usage, memory usage, reservation and age. */
function compareLoad(a: AllocationRow, b: AllocationRow): number {
  return (
    Number(RUNNING.has(b.Status)) - Number(RUNNING.has(a.Status)) ||
    Math.round(b.CPU.InUse ?? 0) - Math.round(a.CPU.InUse ?? 0) ||
    Math.round(b.Memory.InUse ?? 0) - Math.round(a.Memory.InUse ?? 0) ||
    b.CPU.Allocated - a.CPU.Allocated ||
    b.CreateTime - a.CreateTime ||
    compareText(a.ID, b.ID)
  )
}

function countsOf(states: readonly string[]): Counts {
  const groups = [...Map.groupBy(states, (state) => state)]
  return Object.fromEntries(
    groups
      .map(([state, all]) => [state, all.length] as const)
      .toSorted(([a], [b]) => compareText(a, b)),
  )
}

function sumOf(shares: readonly ResourceShare[]): ResourceShare {
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

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Returns the namespace to query; all by default. */
export function queriedNamespace({ settings }: CommandContext): string {
  return settings.namespace ?? '*'
}

/** Returns the nodes and allocations whose usage can be measured. */
export function measurableTargets({ nodes, allocations }: ClusterRecords) {
  return {
    nodes: nodes.filter(({ Status }) => Status === 'ready').map(({ ID }) => ID),
    allocations: allocations.filter((one) => holdsResources(one) && one.ClientStatus === 'running'),
  }
}

/** Number of past commits whose events are shown. */
const COMMITS_BACK = 100

/** Returns the index at which the event stream starts. */
export function firstEventIndex(index: number): number {
  return Math.max(1, index - COMMITS_BACK)
}
