import type { Job } from '@reeve/contract'
import { purgeJobRows } from '../writes/job-version.ts'
import { withServiceRows } from '../writes/derived-rows.ts'
import { withVolumeRows } from '../writes/volume-rows.ts'
import type { CommitRequest } from '../commit-request.ts'
import { remove, type Change } from '../store.ts'
import type { TableName, Tables } from '../schema/tables.ts'

/** Maximum number of rows deleted by one commit, which takes a few milliseconds. */
const REMOVED_MAX = 1_000
/** Cost budget of one batch; reading a row header costs 1. */
const COST_MAX = 5_000
const DECODE_COST = 10

type GcTable = 'evaluations' | 'allocations' | 'deployments' | 'nodes' | 'host_volumes'

/** Number of deleted objects. */
export type GcCounts = {
  readonly [N in 'jobs' | 'evaluations' | 'allocations' | 'deployments' | 'nodes']: number
}

/** Collects the deletes of one garbage collection batch within its limits. */
export class GcBatch {
  readonly #tables: Tables
  /** Sets, because rows of a job are found again among the evaluations. */
  readonly #removed = new Map<TableName, Set<string>>()
  readonly #jobs: Job[] = []
  /**
   * Versions whose allocations are deleted, with their jobs; an unreferenced version of a purged
   * job is deleted too.
   */
  readonly #versions = new Map<string, string>()
  #cost = 0
  #size = 0

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** True while the batch may check more rows. */
  get hasBudget(): boolean {
    return this.#cost < COST_MAX && this.#size < REMOVED_MAX
  }

  chargeLookup(): void {
    this.#cost += 1
  }

  chargeDecode(): void {
    this.#cost += DECODE_COST
  }

  remove(table: GcTable, key: string): void {
    const keys = this.#removed.get(table) ?? new Set<string>()
    if (keys.has(key)) return
    this.#removed.set(table, keys.add(key))
    this.#size += 1
    if (table !== 'allocations') return
    const version = this.#tables.allocations.indexKeyOf('version', key)
    const job = this.#tables.allocations.indexKeyOf('job', key)
    if (version !== undefined && job !== undefined) this.#versions.set(version, job)
  }

  /**
   * Deletes the job and everything kept for it; its evaluations and allocations are already deleted
   * or part of this batch.
   */
  removeJob(job: Job): void {
    this.#jobs.push(job)
    this.#size += 1
  }

  get counts(): GcCounts {
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
   * Commits of this batch in order. Deleted jobs and nodes emit events; evaluations, allocations
   * and deployments do not.
   */
  get commits(): readonly Omit<CommitRequest, 'by'>[] {
    const tables = this.#tables
    const removals = (...names: TableName[]): Change[] =>
      names.flatMap((table) =>
        [...(this.#removed.get(table) ?? [])]
          .filter((key) => tables[table].has(key))
          .map((key) => remove(table, key)),
      )
    return [
      {
        cause: undefined,
        changes: () =>
          withServiceRows(tables, removals('allocations', 'evaluations', 'deployments')),
      },
      {
        cause: 'JobBatchDeregistered',
        // Evaluated after the allocations are deleted, because only then do their versions become
        // unreferenced.
        changes: () => [
          ...this.#jobs.flatMap((job) => purgeJobRows(tables, job)),
          ...this.#orphanedVersions(),
        ],
      },
      {
        cause: 'NodeDeregistration',
        changes: (stamp) =>
          withVolumeRows(tables, withServiceRows(tables, removals('nodes', 'host_volumes')), stamp),
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
          allocations.countByIndex('version', version) === 0,
      )
      .map(([version]) => remove('job_versions', version))
  }
}

const HOUR_MS = 3_600_000

/** How long ended objects are kept before garbage collection. */
export interface GcThresholds {
  /** Since the last change of an evaluation or of one of its allocations. */
  readonly evaluationMs: number
  /** Same as `evaluationMs`, for batch and sysbatch jobs. */
  readonly batchEvaluationMs: number
  /** Since the job was submitted. */
  readonly jobMs: number
  /** Since the deployment last changed. */
  readonly deploymentMs: number
  /** Since the node went down. */
  readonly nodeMs: number
}

export const DEFAULT_GC_THRESHOLDS: GcThresholds = {
  evaluationMs: HOUR_MS,
  batchEvaluationMs: 24 * HOUR_MS,
  jobMs: 4 * HOUR_MS,
  deploymentMs: HOUR_MS,
  nodeMs: 24 * HOUR_MS,
}

/** Thresholds of a forced collection: collects everything that has ended. */
export const ZERO_GC_THRESHOLDS: GcThresholds = {
  evaluationMs: 0,
  batchEvaluationMs: 0,
  jobMs: 0,
  deploymentMs: 0,
  nodeMs: 0,
}

export interface GcOptions {
  readonly nowMs: number
  readonly ages: GcThresholds
}

/** Context of one garbage collection batch. */
export interface GcContext extends GcOptions {
  readonly tables: Tables
  readonly slice: GcBatch
}
