import type { Job, TaskGroup } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  isBatchType,
  isClientTerminal,
  isTerminal,
  type AllocationRow,
  type NodeRow,
} from '../model/index.ts'

/** Input of the drainer. Tests implement it with arrays. */
export interface DrainView {
  /** Draining nodes, sorted by ID. */
  drainingNodes(): readonly NodeRow[]
  allocationsOn(nodeId: string): readonly AllocationRow[]
  allocationsOf(namespace: string, jobId: string): readonly AllocationRow[]
  findJob(namespace: string, id: string): Job | undefined
}

/** An allocation to migrate off its node. */
export interface MigrateMark {
  readonly row: AllocationRow
  /** Stopped without a replacement (batch work at the deadline). */
  readonly disablePlacement: boolean
}

export interface DrainDecision {
  readonly marks: readonly MigrateMark[]
  /** Completed drains. */
  readonly completed: readonly { readonly node: NodeRow; readonly deadlineReached: boolean }[]
  /** Time of the next check if nothing changes; undefined if none is needed. */
  readonly nextCheckMs: number | undefined
}

/** Maximum number of allocations marked by one decision; the next one continues. */
const MARKS_PER_DECISION = 1_000
/** Deadlines within this window are handled together. */
const DEADLINE_WINDOW_MS = 5_000

/**
 * Decides which allocations leave draining nodes now, and which drains are complete. Services
 * migrate as their `migrate` block allows; batch work may run until the deadline; system jobs are
 * stopped last, unless they are ignored. Pure: equal inputs give equal decisions.
 */
export function decideDrain(view: DrainView, nowMs: number): DrainDecision {
  const nodes = view.drainingNodes().map((node) => drainStatusOf(view, node, nowMs))
  const services = migrateServices(view, nodes, nowMs)
  const marks = [
    ...nodes.flatMap(forceAtDeadline),
    ...services.marks,
    ...nodes.flatMap(systemJobsLast),
  ]
  const bounded = marks.slice(0, MARKS_PER_DECISION)
  const marksAll = bounded.length === marks.length
  return {
    marks: bounded,
    // A drain is complete when everything that must leave is marked.
    completed: marksAll
      ? nodes
          .filter((one) => one.isDue || one.onlySystemJobsLeft)
          .map(({ node, isDue, onlySystemJobsLeft }) => ({
            node,
            deadlineReached: isDue && !onlySystemJobsLeft,
          }))
      : [],
    nextCheckMs: earliest([nextDeadlineMs(nodes), services.nextMs]),
  }
}

/** Status of a draining node. */
interface DrainStatus {
  readonly node: NodeRow
  /** Not terminal and not yet marked. */
  readonly unmarked: readonly AllocationRow[]
  /** Only system jobs are left. */
  readonly onlySystemJobsLeft: boolean
  /** The deadline has passed, or the drain is forced immediately. */
  readonly isDue: boolean
  readonly deadlineMs: number | undefined
}

function drainStatusOf(view: DrainView, node: NodeRow, nowMs: number): DrainStatus {
  const remaining = view.allocationsOn(node.ID).filter((row) => !isClientTerminal(row))
  const deadlineMs = deadlineMsOf(node)
  return {
    node,
    unmarked: remaining.filter((row) => !isTerminal(row) && !isMarked(row)),
    onlySystemJobsLeft: remaining.every((row) => row.JobType === 'system'),
    isDue: deadlineMs !== undefined && deadlineMs <= nowMs,
    deadlineMs,
  }
}

function deadlineMsOf({ DrainStrategy: strategy }: NodeRow): number | undefined {
  if (strategy === null || strategy.Deadline === 0) return undefined
  return strategy.Deadline < 0 ? Number.NEGATIVE_INFINITY : Date.parse(strategy.ForceDeadline)
}

function isMarked(row: AllocationRow): boolean {
  return row.DesiredTransition?.Migrate === true
}

/** At the deadline, all remaining allocations are marked. */
function forceAtDeadline({ node, unmarked, isDue }: DrainStatus): MigrateMark[] {
  if (!isDue) return []
  const ignoresSystemJobs = node.DrainStrategy?.IgnoreSystemJobs === true
  return unmarked.filter((row) => !(ignoresSystemJobs && row.JobType === 'system')).map(toMark)
}

function toMark(row: AllocationRow): MigrateMark {
  return { row, disablePlacement: isBatchType(row.JobType) }
}

/** System jobs are stopped last, because other jobs may need them. */
function systemJobsLast({ node, unmarked, onlySystemJobsLeft, isDue }: DrainStatus): MigrateMark[] {
  if (!onlySystemJobsLeft || isDue || node.DrainStrategy?.IgnoreSystemJobs === true) return []
  return unmarked.filter((row) => row.JobType === 'system').map(toMark)
}

interface ServiceMigration {
  readonly marks: readonly MigrateMark[]
  /** Time at which the next running allocation counts as healthy. */
  readonly nextMs: number | undefined
}

/** Marks service allocations per group, limited by `max_parallel`. */
function migrateServices(
  view: DrainView,
  nodes: readonly DrainStatus[],
  nowMs: number,
): ServiceMigration {
  const drainable = nodes
    .filter((one) => !one.isDue)
    .flatMap((one) => one.unmarked)
    .filter((row) => row.JobType === 'service')
  const byGroup = Map.groupBy(drainable, (row) =>
    [row.Namespace, row.JobID, row.TaskGroup].join('\n'),
  )
  const migrations = [...byGroup]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([, rows]) => migrateGroup(view, rows, nowMs))
  return {
    marks: migrations.flatMap((one) => one.marks),
    nextMs: earliest(migrations.map((one) => one.nextMs)),
  }
}

function migrateGroup(
  view: DrainView,
  drainable: readonly AllocationRow[],
  nowMs: number,
): ServiceMigration {
  const [first] = drainable
  const job = first === undefined ? undefined : view.findJob(first.Namespace, first.JobID)
  const group = job?.TaskGroups.find((one) => one.Name === first?.TaskGroup)
  if (first === undefined || group === undefined) return { marks: [], nextMs: undefined }
  const rows = view
    .allocationsOf(first.Namespace, first.JobID)
    .filter((row) => row.TaskGroup === group.Name && !isTerminal(row) && !isMarked(row))
  const healthyTimesMs = rows.map((row) => migrationHealthyAtMs(row, group))
  const healthyCount = healthyTimesMs.filter((atMs) => atMs <= nowMs).length
  const futureTimesMs = healthyTimesMs.filter((atMs) => atMs > nowMs && Number.isFinite(atMs))
  const chosen = drainable
    .toSorted(byName)
    .slice(0, Math.max(0, migratableCount(group, healthyCount)))
  return { marks: chosen.map(toMark), nextMs: earliest(futureTimesMs) }
}

/** Healthy − (Count − MaxParallel). */
function migratableCount(group: TaskGroup, healthyCount: number): number {
  return healthyCount - (group.Count - (group.Migrate?.MaxParallel ?? 1))
}

function byName(a: AllocationRow, b: AllocationRow): number {
  return compareText(a.Name, b.Name) || compareText(a.ID, b.ID)
}

/** Latest of the deadlines within the window, so that one check handles them all. */
function nextDeadlineMs(nodes: readonly DrainStatus[]): number | undefined {
  const futureDeadlinesMs = nodes.flatMap(({ isDue, deadlineMs }) =>
    isDue || deadlineMs === undefined ? [] : [deadlineMs],
  )
  const first = earliest(futureDeadlinesMs)
  if (first === undefined) return undefined
  return Math.max(...futureDeadlinesMs.filter((atMs) => atMs <= first + DEADLINE_WINDOW_MS))
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const defined = times.filter((atMs) => atMs !== undefined)
  return defined.length === 0 ? undefined : defined.reduce((a, b) => Math.min(a, b))
}

/**
 * Time at which an allocation counts as healthy for a migration: immediately if its health was
 * reported, else when all its tasks have run for `min_healthy_time`. Infinity while it does not
 * run.
 */
function migrationHealthyAtMs(row: AllocationRow, group: TaskGroup): number {
  if (typeof row.DeploymentStatus?.Healthy === 'boolean') return Number.NEGATIVE_INFINITY
  if (row.ClientStatus !== 'running') return Number.POSITIVE_INFINITY
  const started = Object.values(row.TaskStates ?? {}).map((task) =>
    task.State === 'running' ? Date.parse(task.StartedAt ?? '') : Number.NEGATIVE_INFINITY,
  )
  const sinceMs = Math.max(msFromNs(row.CreateTime), ...started.filter((ms) => !Number.isNaN(ms)))
  return sinceMs + msFromNs(group.Migrate?.MinHealthyTime ?? 0)
}
