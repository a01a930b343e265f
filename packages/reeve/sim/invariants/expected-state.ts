import type { Deployment, Evaluation, Job, JobSummary } from '@reeve/contract'
import type { AllocationRow, NodeRow } from '../../src/model/index.ts'
import {
  namespacedKey,
  joinRowJson,
  type Commit,
  type Store,
  type TableName,
} from '../../src/state/index.ts'
import { Violation } from '../trace.ts'

/** A row before and after a commit; undefined if it did not exist. */
export interface RowChange<Row> {
  readonly key: string
  readonly before: Row | undefined
  readonly after: Row | undefined
}

/** The changes of one commit by table. */
export interface Changes {
  readonly index: number
  readonly timeMs: number
  readonly allocations: readonly RowChange<AllocationRow>[]
  readonly deployments: readonly RowChange<Deployment>[]
  readonly evaluations: readonly RowChange<Evaluation>[]
  readonly job_summaries: readonly RowChange<JobSummary>[]
  readonly jobs: readonly RowChange<Job>[]
  readonly nodes: readonly RowChange<NodeRow>[]
}

type TrackedTable = keyof Omit<Changes, 'index' | 'timeMs'>
const TRACKED_TABLES: readonly TrackedTable[] = [
  'allocations',
  'deployments',
  'evaluations',
  'job_summaries',
  'jobs',
  'nodes',
]

/** Rows of one table, indexed by group. */
class IndexedRows<Row extends object> {
  readonly byKey = new Map<string, Row>()
  readonly #groups = new Map<string, Map<string, Row>>()
  readonly #groupsOf: (row: Row) => readonly string[]

  constructor(groupsOf: (row: Row) => readonly string[]) {
    this.#groupsOf = groupsOf
  }

  find(key: string): Row | undefined {
    return this.byKey.get(key)
  }

  inGroup(group: string): readonly Row[] {
    return [...(this.#groups.get(group)?.values() ?? [])]
  }

  write(key: string, after: Row | undefined): Row | undefined {
    const before = this.byKey.get(key)
    if (before !== undefined)
      for (const group of this.#groupsOf(before)) this.#groups.get(group)?.delete(key)
    if (after === undefined) this.byKey.delete(key)
    else {
      this.byKey.set(key, after)
      for (const group of this.#groupsOf(after)) {
        const members = this.#groups.get(group) ?? new Map<string, Row>()
        this.#groups.set(group, members.set(key, after))
      }
    }
    return before
  }
}

export function jobKeyOf(row: { readonly Namespace: string; readonly JobID: string }): string {
  return namespacedKey(row.Namespace, row.JobID)
}

/**
 * The expected state, built only from published commits. The leader's memory, and the contents of
 * its disk after a crash, are compared with it.
 */
export class ExpectedState {
  readonly allocations = new IndexedRows<AllocationRow>((row) => [
    `job ${jobKeyOf(row)}`,
    `node ${row.NodeID}`,
  ])
  readonly deployments = new IndexedRows<Deployment>((row) => [`job ${jobKeyOf(row)}`])
  readonly evaluations = new IndexedRows<Evaluation>((row) => [`job ${jobKeyOf(row)}`])
  readonly job_summaries = new IndexedRows<JobSummary>(() => [])
  readonly jobs = new IndexedRows<Job>((row) =>
    row.ParentID === '' ? [] : [`parent ${namespacedKey(row.Namespace, row.ParentID)}`],
  )
  readonly nodes = new IndexedRows<NodeRow>(() => [])
  /** All registered versions by job; removed when the job is purged. */
  readonly #versionsByJob = new Map<string, Map<number, Job>>()
  /** Number of failed deployments so far. */
  failedDeployments = 0
  readonly #encodedRows = new Map<string, string>()
  #index = 0

  get index(): number {
    return this.#index
  }

  apply(commit: Commit): Changes {
    if (commit.index !== this.#index + 1)
      throw new Violation('the index never decreases', `${commit.index} after ${this.#index}`)
    this.#index = commit.index
    const changes: Record<TrackedTable, RowChange<object>[]> = {
      allocations: [],
      deployments: [],
      evaluations: [],
      job_summaries: [],
      jobs: [],
      nodes: [],
    }
    for (const { table, key, header, text } of commit.rows) {
      const name = `${table}\n${key}`
      const body = joinRowJson(text)
      if (header === undefined) this.#encodedRows.delete(name)
      else this.#encodedRows.set(name, encodedRow(header, body))
      const tracked = TRACKED_TABLES.find((one) => one === table)
      if (tracked === undefined) continue
      // Proof: the body was encoded from a row of this table.
      const after = header === undefined ? undefined : (JSON.parse(body) as object)
      // Proof: as above.
      const before = (this[tracked] as IndexedRows<object>).write(key, after)
      changes[tracked].push({ key, before, after })
    }
    // Proof: as above; each list holds rows of its own table.
    const all = { index: commit.index, timeMs: commit.timeMs, ...(changes as object) } as Changes
    this.#recordHistory(all)
    return all
  }

  /** The earlier versions of a job, without stopped ones. */
  olderVersions(job: Job): readonly Job[] {
    const versions = this.#versionsByJob.get(namespacedKey(job.Namespace, job.ID))
    return [...(versions?.values() ?? [])].filter((one) => one.Version < job.Version && !one.Stop)
  }

  #recordHistory({ jobs, deployments }: Changes): void {
    for (const { key, after } of jobs) {
      if (after === undefined) this.#versionsByJob.delete(key)
      else {
        const versions = this.#versionsByJob.get(key) ?? new Map<number, Job>()
        this.#versionsByJob.set(key, versions.set(after.Version, after))
      }
    }
    for (const { before, after } of deployments)
      if (after?.Status === 'failed' && before?.Status !== 'failed') this.failedDeployments += 1
  }

  /** Invariant: the state equals the one given by the commits; nothing is lost or added. */
  compare(store: Store): void {
    let count = 0
    for (const name of Object.keys(store.tables)) {
      // Proof: the keys of Tables are exactly its names.
      const table = store.tables[name as TableName]
      for (const key of table.keys()) {
        count += 1
        const encoded = table.findEncoded(key)
        const text = encoded === undefined ? undefined : encodedRow(encoded.header, encoded.body)
        if (this.#encodedRows.get(`${name}\n${key}`) !== text)
          throw new Violation(
            'no acknowledged write is lost',
            `${name} ${key} is ${text}, acknowledged as ${this.#encodedRows.get(`${name}\n${key}`)}`,
          )
      }
    }
    if (count !== this.#encodedRows.size)
      throw new Violation(
        'no acknowledged write is lost',
        `${this.#encodedRows.size} rows were acknowledged, ${count} are stored`,
      )
  }
}

/** Joins the indexes and the text of an encoded row. */
function encodedRow(
  [create, modify]: readonly [number, number, ...unknown[]],
  body: string,
): string {
  return `${create} ${modify} ${body}`
}
