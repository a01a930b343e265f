import type { JobSummary, NodeUsageReport, TaskGroupSummary } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { runInSlices, type SliceOptions, type Steps } from '@reeve/kit/slices.ts'
import type { Caller } from '../../acl/index.ts'
import type { MetricAliases } from '../../compat/index.ts'
import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  LIMITS,
  NO_USAGE,
  type AllocationRow,
  type NodeRow,
} from '../../model/index.ts'
import type { Store } from '../../state/index.ts'
import type { NodeGateway } from '../../workload/index.ts'
import { METRIC_PREFIX } from './metrics.ts'
import { readNodeUsages, type NodeUsages } from './node-usage.ts'

interface StateMetricsOptions {
  readonly store: Store
  /** The connected nodes, which report their usage and that of their tasks. */
  readonly gateway: Pick<NodeGateway, 'request'>
  readonly clock: Clock
  readonly aliases: MetricAliases
}

/** Samples of the text format by the name of their metric. */
type Samples = Map<string, string[]>

/** By namespace for jobs, and separately for nodes. */
interface RenderedMetrics {
  readonly namespaces: ReadonlyMap<string, Samples>
  readonly nodes: Samples
}

/** Cache time of the rendered text. Collectors scrape every 15 s or so. */
const CACHE_MS = 5_000

/**
 * Metrics of jobs, tasks and nodes in Prometheus' text format. Lines contain names, so a caller
 * gets those of the namespaces whose jobs it may read, and those of nodes if it may read nodes.
 */
export class StateMetrics {
  readonly #options: StateMetricsOptions
  #rendered: Promise<RenderedMetrics> | undefined
  #renderedMs = 0

  constructor(options: StateMetricsOptions) {
    this.#options = options
  }

  async text({ grants }: Caller, slices: SliceOptions): Promise<string> {
    const { namespaces, nodes } = await this.#latest(slices)
    const readable = [...namespaces].filter(([namespace]) => grants.allows(namespace, 'read-job'))
    const samples = [
      ...(grants.node('read') ? [nodes] : []),
      ...readable.map(([, samplesOfNamespace]) => samplesOfNamespace),
    ]
    return this.#groupByMetric(samples)
  }

  /** The format requires all samples of a metric in one group, after its type. */
  #groupByMetric(samples: readonly Samples[]): string {
    const { names: aliases } = this.#options.aliases
    return Object.entries(STATE_METRICS)
      .flatMap(([metricName, help]) => {
        const alias = aliases[metricName]
        const names = [`${METRIC_PREFIX}${metricName}`, ...(alias === undefined ? [] : [alias])]
        return names.flatMap((name) => {
          const lines = samples.flatMap((part) => part.get(name) ?? [])
          const head = [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`]
          return lines.length === 0 ? [] : [...head, ...lines]
        })
      })
      .map((line) => `${line}\n`)
      .join('')
  }

  #latest(slices: SliceOptions): Promise<RenderedMetrics> {
    const nowMs = this.#options.clock.nowMs()
    if (this.#rendered === undefined || nowMs - this.#renderedMs >= CACHE_MS) {
      this.#renderedMs = nowMs
      this.#rendered = this.#readAndRender(slices)
    }
    return this.#rendered
  }

  async #readAndRender(slices: SliceOptions): Promise<RenderedMetrics> {
    const { store, gateway } = this.#options
    const usages = await readNodeUsages(store, gateway)
    return await runInSlices(this.#render(usages), slices)
  }

  *#render(usages: NodeUsages): Steps<RenderedMetrics> {
    const { store, aliases } = this.#options
    const { nodes: nodeRows, job_summaries } = store.tables
    const writer = new SeriesWriter(aliases)
    const nodes: Samples = new Map()
    // The rows may change between two slices.
    const nodeKeys = [...nodeRows.keys()]
    for (const key of nodeKeys) {
      const node = nodeRows.find(key)
      if (node === undefined) continue
      const write = writer.writerFor(nodes)
      addNode(node, store.tables.allocations.rowsByIndex('node', node.ID), write)
      addHost(node, usages.get(key), write)
      yield
    }
    const namespaces = new Map<string, Samples>()
    const samplesOf = (namespace: string): Samples => {
      const samples: Samples = namespaces.get(namespace) ?? new Map()
      namespaces.set(namespace, samples)
      return samples
    }
    let taskCount = 0
    for (const [nodeId, { tasks }] of usages) {
      for (const usage of tasks) {
        const allocation = store.tables.allocations.find(usage.allocation)
        // A node reports its own allocations only.
        if (allocation?.NodeID !== nodeId || taskCount >= LIMITS.metricTasksMax) continue
        const write = writer.writerFor(samplesOf(allocation.Namespace))
        if (addTask(allocation, usage, write)) taskCount += 1
      }
      yield
    }
    const summaryKeys = [...job_summaries.keys()]
    for (const key of summaryKeys) {
      const summary = job_summaries.find(key)
      if (summary === undefined) continue
      addJob(summary, writer.writerFor(samplesOf(summary.Namespace)))
      if (writer.isFull) break
      yield
    }
    return { namespaces, nodes }
  }
}

type Write = (
  name: keyof typeof STATE_METRICS,
  labels: Readonly<Record<string, string>>,
  value: number,
) => void

/** Writes each value under its own name and under the name that common dashboards use. */
class SeriesWriter {
  readonly #aliases: MetricAliases
  #count = 0

  constructor(aliases: MetricAliases) {
    this.#aliases = aliases
  }

  get isFull(): boolean {
    return this.#count >= LIMITS.metricSeriesMax
  }

  writerFor(samples: Samples): Write {
    return (name, labels, value) => {
      this.#count++
      const text = Object.entries(labels)
        .map(([label, labelValue]) => `${label}="${escapeLabel(labelValue)}"`)
        .join(',')
      const other = this.#aliases.names[name]
      for (const one of [`${METRIC_PREFIX}${name}`, ...(other === undefined ? [] : [other])]) {
        const lines = samples.get(one) ?? []
        samples.set(one, lines)
        lines.push(`${one}{${text}} ${value}`)
      }
    }
  }
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

/** Metrics with the names of jobs and nodes, and their descriptions. */
export const STATE_METRICS = {
  job_allocations_queued: 'Allocations of a task group that wait to be placed.',
  job_allocations_starting: 'Allocations of a task group that start.',
  job_allocations_running: 'Allocations of a task group that run.',
  job_allocations_complete: 'Allocations of a task group that have completed.',
  job_allocations_failed: 'Allocations of a task group that have failed.',
  job_allocations_lost: 'Allocations of a task group that were lost with their node.',
  job_allocations_unknown: 'Allocations of a task group on disconnected nodes.',
  node_allocated_cpu: 'CPU of a node that its allocations reserve, in MHz.',
  node_allocated_memory: 'Memory of a node that its allocations reserve, in MiB.',
  node_allocated_disk: 'Disk space of a node that its allocations reserve, in MiB.',
  node_unallocated_cpu: 'CPU of a node that is free for allocations, in MHz.',
  node_unallocated_memory: 'Memory of a node that is free for allocations, in MiB.',
  node_unallocated_disk: 'Disk space of a node that is free for allocations, in MiB.',
  node_allocations_pending: 'Allocations of a node that have not started yet.',
  node_allocations_running: 'Allocations of a node that run.',
  node_allocations_complete: 'Allocations of a node that have completed.',
  node_allocations_failed: 'Allocations of a node that have failed.',
  node_allocations_lost: 'Allocations that were lost with their node.',
  node_allocations_unknown: 'Allocations of a node that is disconnected.',
  node_host_cpu_percent: 'CPU usage of a node, as the average of its cores, in percent.',
  node_host_memory_size: 'Memory of a node, in bytes.',
  node_host_memory_available: 'Memory of a node that programs can use, in bytes.',
  node_host_memory_used: 'Memory of a node that is used, in bytes.',
  node_host_memory_free: 'Memory of a node that is not used at all, in bytes.',
  node_host_disk_size: 'Size of the file system of the allocations, in bytes.',
  node_host_disk_used: 'Used space of the file system of the allocations, in bytes.',
  node_host_disk_available: 'Free space of the file system of the allocations, in bytes.',
  node_host_uptime: 'Time since the start of the machine, in seconds.',
  task_cpu_percent: 'CPU usage of a task, in percent of one core.',
  task_cpu_ticks: 'CPU usage of a task, in MHz.',
  task_cpu_allocated: 'CPU that a task reserves, in MHz.',
  task_cpu_throttled_time: 'Time for which a task was throttled, in nanoseconds.',
  task_memory_rss: 'Resident memory of a task, in bytes.',
  task_memory_cache: 'Page cache of a task, in bytes.',
  task_memory_swap: 'Swap space of a task, in bytes.',
  task_memory_usage: 'Memory usage of a task, in bytes.',
  task_memory_max_usage: 'Highest memory usage of a task, in bytes.',
  task_memory_allocated: 'Memory that a task reserves, in bytes.',
} as const

const STATES = [
  'Queued',
  'Starting',
  'Running',
  'Complete',
  'Failed',
  'Lost',
  'Unknown',
] as const satisfies readonly (keyof TaskGroupSummary)[]

function addJob({ Namespace, JobID, Summary }: JobSummary, write: Write): void {
  for (const [group, counts] of Object.entries(Summary)) {
    const labels = { namespace: Namespace, job: JobID, task_group: group }
    for (const state of STATES) write(`job_allocations_${lower(state)}`, labels, counts[state])
  }
}

function lower<Text extends string>(text: Text): Lowercase<Text> {
  // Proof: the result is the lower-case text.
  return text.toLowerCase() as Lowercase<Text>
}

function nodeLabels(node: NodeRow): Readonly<Record<string, string>> {
  return {
    node_id: node.ID,
    node_name: node.Name,
    datacenter: node.Datacenter,
    node_class: node.NodeClass,
    node_pool: node.NodePool,
    node_status: node.Status,
    node_scheduling_eligibility: node.SchedulingEligibility,
  }
}

function addHost(node: NodeRow, usage: NodeUsageReport | undefined, write: Write): void {
  if (usage === undefined) return
  const { host } = usage
  const labels = nodeLabels(node)
  write('node_host_cpu_percent', labels, host.cpuPercent)
  write('node_host_memory_size', labels, host.memoryTotalBytes)
  write('node_host_memory_available', labels, host.memoryAvailableBytes)
  write('node_host_memory_used', labels, host.memoryUsedBytes)
  write('node_host_memory_free', labels, host.memoryFreeBytes)
  write('node_host_disk_size', labels, host.diskSizeBytes)
  write('node_host_disk_used', labels, host.diskUsedBytes)
  write('node_host_disk_available', labels, host.diskAvailableBytes)
  write('node_host_uptime', labels, host.uptimeSeconds)
}

const BYTES_PER_MIB = 1024 * 1024

/** Adds the values of one task; false if the allocation has no such task. */
function addTask(
  { ID, JobID, Namespace, NodeName, TaskGroup, AllocatedResources }: AllocationRow,
  usage: NodeUsageReport['tasks'][number],
  write: Write,
): boolean {
  const reserved = AllocatedResources?.Tasks[usage.task]
  if (reserved === undefined) return false
  const labels = {
    namespace: Namespace,
    job: JobID,
    task_group: TaskGroup,
    task: usage.task,
    alloc_id: ID,
    host: NodeName,
  }
  write('task_cpu_percent', labels, usage.cpuPercent)
  write('task_cpu_ticks', labels, usage.cpuMHz)
  write('task_cpu_allocated', labels, reserved.Cpu.CpuShares)
  write('task_cpu_throttled_time', labels, usage.throttledNs)
  write('task_memory_rss', labels, usage.rssBytes)
  write('task_memory_cache', labels, usage.cacheBytes)
  write('task_memory_swap', labels, usage.swapBytes)
  write('task_memory_usage', labels, usage.usageBytes)
  write('task_memory_max_usage', labels, usage.maxUsageBytes)
  write('task_memory_allocated', labels, reserved.Memory.MemoryMB * BYTES_PER_MIB)
  return true
}

const CLIENT_STATES = ['pending', 'running', 'complete', 'failed', 'lost', 'unknown'] as const

function addNode(node: NodeRow, allocations: readonly AllocationRow[], write: Write): void {
  const labels = nodeLabels(node)
  const allocated = allocations
    .filter((row) => !isClientTerminal(row))
    .reduce((sum, row) => addToUsage(sum, chargeOf(row.AllocatedResources)), NO_USAGE)
  const { NodeResources: resources, ReservedResources: reserved } = node
  write('node_allocated_cpu', labels, allocated.cpuShares)
  write('node_allocated_memory', labels, allocated.memoryMB)
  write('node_allocated_disk', labels, allocated.diskMB)
  const { Cpu, Memory, Disk } = resources
  write(
    'node_unallocated_cpu',
    labels,
    Cpu.CpuShares - reserved.Cpu.CpuShares - allocated.cpuShares,
  )
  write(
    'node_unallocated_memory',
    labels,
    Memory.MemoryMB - reserved.Memory.MemoryMB - allocated.memoryMB,
  )
  write('node_unallocated_disk', labels, Disk.DiskMB - reserved.Disk.DiskMB - allocated.diskMB)
  for (const status of CLIENT_STATES)
    write(
      `node_allocations_${status}`,
      labels,
      allocations.filter(({ ClientStatus }) => ClientStatus === status).length,
    )
}
