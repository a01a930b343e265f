import type { Job } from '@reeve/contract'
import { purgedJobRows } from '../purged-job.ts'
import { withServiceRows } from '../service-rows.ts'
import { withVolumeRows } from '../volume-rows.ts'
import { remove, type Change, type CommitRequest } from '../store.ts'
import type { TableName, Tables } from '../tables.ts'

/** Rows that one commit of the collector removes at most: a few milliseconds. */
const REMOVED_MAX = 1_000
/** What one slice may cost, in looks at a row's header; to decode a row costs ten of them. */
const COST_MAX = 5_000
const DECODE_COST = 10

type CollectedTable = 'evaluations' | 'allocations' | 'deployments' | 'nodes' | 'host_volumes'

/** How much was collected. */
export type GarbageCounts = {
  readonly [N in 'jobs' | 'evaluations' | 'allocations' | 'deployments' | 'nodes']: number
}

/** What one slice of a collection looks at and removes, within its bounds. */
export class Slice {
  readonly #tables: Tables
  /** Sets: what goes with a job is met again among the evaluations. */
  readonly #removed = new Map<TableName, Set<string>>()
  readonly #jobs: Job[] = []
  /** Versions whose allocations go, with their jobs: without those nobody keeps them. */
  readonly #versions = new Map<string, string>()
  #cost = 0
  #size = 0

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** Whether there is room to look at something more. */
  get hasRoom(): boolean {
    return this.#cost < COST_MAX && this.#size < REMOVED_MAX
  }

  look(): void {
    this.#cost += 1
  }

  decode(): void {
    this.#cost += DECODE_COST
  }

  remove(table: CollectedTable, key: string): void {
    const keys = this.#removed.get(table) ?? new Set<string>()
    if (keys.has(key)) return
    this.#removed.set(table, keys.add(key))
    this.#size += 1
    if (table !== 'allocations') return
    const version = this.#tables.allocations.groupOf('version', key)
    const job = this.#tables.allocations.groupOf('job', key)
    if (version !== undefined && job !== undefined) this.#versions.set(version, job)
  }

  /** The job and all that is kept of it; its evaluations and allocations are gone or in here. */
  removeJob(job: Job): void {
    this.#jobs.push(job)
    this.#size += 1
  }

  get counts(): GarbageCounts {
    const count = (table: TableName): number => this.#removed.get(table)?.size ?? 0
    return {
      jobs: this.#jobs.length,
      evaluations: count('evaluations'),
      allocations: count('allocations'),
      deployments: count('deployments'),
      nodes: count('nodes'),
    }
  }

  /**
   * In the order in which they are committed. Jobs and nodes that go are told of; evaluations,
   * allocations and deployments go in silence.
   */
  get commits(): readonly Omit<CommitRequest, 'by'>[] {
    const tables = this.#tables
    const gone = (...names: TableName[]): Change[] =>
      names.flatMap((table) =>
        [...(this.#removed.get(table) ?? [])]
          .filter((key) => tables[table].has(key))
          .map((key) => remove(table, key)),
      )
    return [
      {
        cause: undefined,
        changes: () => withServiceRows(tables, gone('allocations', 'evaluations', 'deployments')),
      },
      {
        cause: 'JobBatchDeregistered',
        // Asked when the allocations are gone: only then do their versions go too.
        changes: () => [
          ...this.#jobs.flatMap((job) => purgedJobRows(tables, job)),
          ...this.#orphanedVersions(),
        ],
      },
      {
        cause: 'NodeDeregistration',
        changes: (stamp) =>
          withVolumeRows(tables, withServiceRows(tables, gone('nodes', 'host_volumes')), stamp),
      },
    ]
  }

  #orphanedVersions(): Change[] {
    const { allocations, jobs, job_versions } = this.#tables
    return [...this.#versions]
      .filter(
        ([version, job]) =>
          !jobs.has(job) &&
          job_versions.has(version) &&
          allocations.countIn('version', version) === 0,
      )
      .map(([version]) => remove('job_versions', version))
  }
}
