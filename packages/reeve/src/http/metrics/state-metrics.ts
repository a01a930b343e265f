import type { JobSummary, TaskGroupSummary } from '@reeve/contract'
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
import { METRIC_PREFIX } from './process-metrics.ts'

interface StateMetricsOptions {
  readonly store: Store
  readonly clock: Clock
  readonly aliases: MetricAliases
}

/** Lines of the text format, by namespace for jobs, and separately for nodes. */
interface Rendered {
  readonly atMs: number
  readonly namespaces: ReadonlyMap<string, readonly string[]>
  readonly nodes: readonly string[]
}

/** Cache time of the rendered text. Collectors scrape every 15 s or so. */
const RENDERED_MS = 5_000

/**
 * Metrics of jobs and nodes in Prometheus' text format. Lines contain names, so a caller gets those
 * of the namespaces whose jobs it may read, and those of nodes if it may read nodes.
 */
export class StateMetrics {
  readonly #options: StateMetricsOptions
  #rendered: Promise<Rendered> | undefined
  #renderedMs = 0

  constructor(options: StateMetricsOptions) {
    this.#options = options
  }

  async text({ grants }: Caller, slices: SliceOptions): Promise<string> {
    const { namespaces, nodes } = await this.#latest(slices)
    const lines = [...namespaces]
      .filter(([namespace]) => grants.allows(namespace, 'read-job'))
      .flatMap(([, own]) => own)
    return [...(grants.node('read') ? nodes : []), ...lines].map((line) => `${line}\n`).join('')
  }

  #latest(slices: SliceOptions): Promise<Rendered> {
    const nowMs = this.#options.clock.nowMs()
    if (this.#rendered === undefined || nowMs - this.#renderedMs >= RENDERED_MS) {
      this.#renderedMs = nowMs
      this.#rendered = runInSlices(this.#render(nowMs), slices)
    }
    return this.#rendered
  }

  *#render(atMs: number): Steps<Rendered> {
    const { store, aliases } = this.#options
    const { nodes: nodeRows, job_summaries } = store.tables
    const writer = new SeriesWriter(aliases)
    const nodes: string[] = []
    // The rows may change between two slices.
    const nodeKeys = [...nodeRows.keys()]
    for (const key of nodeKeys) {
      const node = nodeRows.find(key)
      if (node === undefined) continue
      nodes.push(...nodeLines(node, store.tables.allocations.rowsIn('node', node.ID), writer))
      yield
    }
    const namespaces = new Map<string, string[]>()
    const summaryKeys = [...job_summaries.keys()]
    for (const key of summaryKeys) {
      const summary = job_summaries.find(key)
      if (summary === undefined) continue
      const own = namespaces.get(summary.Namespace) ?? []
      namespaces.set(summary.Namespace, own)
      own.push(...jobLines(summary, writer))
      if (writer.isFull) break
      yield
    }
    return { atMs, namespaces, nodes }
  }
}

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

  lines(name: string, labels: Readonly<Record<string, string>>, value: number): readonly string[] {
    this.#count++
    const text = Object.entries(labels)
      .map(([label, of]) => `${label}="${escaped(of)}"`)
      .join(',')
    const other = this.#aliases.names[name]
    const names = [`${METRIC_PREFIX}${name}`, ...(other === undefined ? [] : [other])]
    return names.map((one) => `${one}{${text}} ${value}`)
  }
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

const STATES = [
  'Queued',
  'Starting',
  'Running',
  'Complete',
  'Failed',
  'Lost',
  'Unknown',
] as const satisfies readonly (keyof TaskGroupSummary)[]

function jobLines({ Namespace, JobID, Summary }: JobSummary, writer: SeriesWriter): string[] {
  return Object.entries(Summary).flatMap(([group, counts]) => {
    const labels = { namespace: Namespace, job: JobID, task_group: group }
    return STATES.flatMap((state) =>
      writer.lines(`job_summary_${state.toLowerCase()}`, labels, counts[state]),
    )
  })
}

const CLIENT_STATES = ['pending', 'running', 'complete', 'failed', 'lost', 'unknown'] as const

function nodeLines(
  node: NodeRow,
  allocations: readonly AllocationRow[],
  writer: SeriesWriter,
): string[] {
  const labels = {
    node_id: node.ID,
    node_name: node.Name,
    datacenter: node.Datacenter,
    node_class: node.NodeClass,
    node_pool: node.NodePool,
    node_status: node.Status,
    node_scheduling_eligibility: node.SchedulingEligibility,
  }
  const used = allocations
    .filter((row) => !isClientTerminal(row))
    .reduce((sum, row) => addToUsage(sum, chargeOf(row.AllocatedResources)), NO_USAGE)
  const { NodeResources: has, ReservedResources: keeps } = node
  const free = {
    cpu: has.Cpu.CpuShares - keeps.Cpu.CpuShares - used.cpuShares,
    memory: has.Memory.MemoryMB - keeps.Memory.MemoryMB - used.memoryMB,
    disk: has.Disk.DiskMB - keeps.Disk.DiskMB - used.diskMB,
  }
  const allocated = { cpu: used.cpuShares, memory: used.memoryMB, disk: used.diskMB }
  const count = (status: string): number =>
    allocations.filter(({ ClientStatus }) => ClientStatus === status).length
  return [
    ...Object.entries(allocated).flatMap(([of, value]) =>
      writer.lines(`node_allocated_${of}`, labels, value),
    ),
    ...Object.entries(free).flatMap(([of, value]) =>
      writer.lines(`node_unallocated_${of}`, labels, value),
    ),
    ...CLIENT_STATES.flatMap((status) =>
      writer.lines(`node_allocations_${status}`, labels, count(status)),
    ),
  ]
}
