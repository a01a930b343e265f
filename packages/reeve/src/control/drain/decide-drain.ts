import type { Job, TaskGroup } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  isBatchType,
  isClientTerminal,
  isTerminal,
  type AllocationRow,
  type NodeRow,
} from '../../model/index.ts'
import { healthyAtMs } from './health.ts'

/** What the drainer may see. State satisfies it; a test satisfies it with arrays. */
export interface DrainView {
  /** Nodes with a drain, by id. */
  drainingNodes(): readonly NodeRow[]
  allocationsOn(nodeId: string): readonly AllocationRow[]
  allocationsOf(namespace: string, jobId: string): readonly AllocationRow[]
  findJob(namespace: string, id: string): Job | undefined
}

/** An allocation that must leave its node. */
export interface DrainMark {
  readonly row: AllocationRow
  /** Stopped and not placed elsewhere (batch work at the deadline). */
  readonly disablePlacement: boolean
}

export interface DrainDecision {
  readonly marks: readonly DrainMark[]
  /** Drains that are over. */
  readonly complete: readonly { readonly node: NodeRow; readonly deadlineReached: boolean }[]
  /** When to look again though nothing changes; undefined when only a change matters. */
  readonly nextMs: number | undefined
}

/** Allocations that one decision marks at most; a drain of more goes on with the next. */
const MARKS_MAX = 1_000
/** Nodes whose deadlines are this close are handled together. */
const DEADLINE_WINDOW_MS = 5_000

/**
 * Which allocations leave draining nodes now, and which drains are over. Services move as many at a
 * time as their `migrate` block allows; batch work may finish until the deadline; system jobs go
 * last, unless they are to stay. Pure: equal inputs, equal decisions.
 */
export function decideDrain(view: DrainView, nowMs: number): DrainDecision {
  const nodes = view.drainingNodes().map((node) => describe(view, node, nowMs))
  const services = moveServices(view, nodes, nowMs)
  const marks = [...nodes.flatMap(forced), ...services.marks, ...nodes.flatMap(systemLast)]
  const bounded = marks.slice(0, MARKS_MAX)
  const isAll = bounded.length === marks.length
  return {
    marks: bounded,
    // A drain ends when everything that has to leave is told so.
    complete: isAll
      ? nodes
          .filter((one) => one.isDue || one.isEmpty)
          .map(({ node, isDue, isEmpty }) => ({ node, deadlineReached: isDue && !isEmpty }))
      : [],
    nextMs: earliest([nextDeadline(nodes), services.nextMs]),
  }
}

/** A draining node and what is left on it. */
interface Draining {
  readonly node: NodeRow
  /** Has not ended, and not been told to leave. */
  readonly unmarked: readonly AllocationRow[]
  /** Nothing but system jobs is left. */
  readonly isEmpty: boolean
  /** The deadline has come, or there is to be none. */
  readonly isDue: boolean
  readonly deadlineMs: number | undefined
}

function describe(view: DrainView, node: NodeRow, nowMs: number): Draining {
  const left = view.allocationsOn(node.ID).filter((row) => !isClientTerminal(row))
  const deadlineMs = deadlineOf(node)
  return {
    node,
    unmarked: left.filter((row) => !isTerminal(row) && !isMarked(row)),
    isEmpty: left.every((row) => row.JobType === 'system'),
    isDue: deadlineMs !== undefined && deadlineMs <= nowMs,
    deadlineMs,
  }
}

function deadlineOf({ DrainStrategy: strategy }: NodeRow): number | undefined {
  if (strategy === null || strategy.Deadline === 0) return undefined
  return strategy.Deadline < 0 ? Number.NEGATIVE_INFINITY : Date.parse(strategy.ForceDeadline)
}

function isMarked(row: AllocationRow): boolean {
  return row.DesiredTransition?.Migrate === true
}

/** At the deadline everything that is left goes at once. */
function forced({ node, unmarked, isDue }: Draining): DrainMark[] {
  if (!isDue) return []
  const stays = node.DrainStrategy?.IgnoreSystemJobs === true
  return unmarked.filter((row) => !(stays && row.JobType === 'system')).map(markOf)
}

function markOf(row: AllocationRow): DrainMark {
  return { row, disablePlacement: isBatchType(row.JobType) }
}

/** System jobs leave when all else has: what the others need of them they have until then. */
function systemLast({ node, unmarked, isEmpty, isDue }: Draining): DrainMark[] {
  if (!isEmpty || isDue || node.DrainStrategy?.IgnoreSystemJobs === true) return []
  return unmarked.filter((row) => row.JobType === 'system').map(markOf)
}

interface Moves {
  readonly marks: readonly DrainMark[]
  /** When an allocation that runs will count as healthy. */
  readonly nextMs: number | undefined
}

/** Of each group with something on a draining node, as many as may be missing at a time. */
function moveServices(view: DrainView, nodes: readonly Draining[], nowMs: number): Moves {
  const waiting = nodes
    .filter((one) => !one.isDue)
    .flatMap((one) => one.unmarked)
    .filter((row) => row.JobType === 'service')
  const byGroup = Map.groupBy(waiting, (row) =>
    [row.Namespace, row.JobID, row.TaskGroup].join('\n'),
  )
  const moves = [...byGroup]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([, rows]) => moveGroup(view, rows, nowMs))
  return {
    marks: moves.flatMap((one) => one.marks),
    nextMs: earliest(moves.map((one) => one.nextMs)),
  }
}

function moveGroup(view: DrainView, drainable: readonly AllocationRow[], nowMs: number): Moves {
  const [first] = drainable
  const job = first === undefined ? undefined : view.findJob(first.Namespace, first.JobID)
  const group = job?.TaskGroups.find((one) => one.Name === first?.TaskGroup)
  if (first === undefined || group === undefined) return { marks: [], nextMs: undefined }
  const rows = view
    .allocationsOf(first.Namespace, first.JobID)
    .filter((row) => row.TaskGroup === group.Name && !isTerminal(row) && !isMarked(row))
  const healthyAt = rows.map((row) => healthyAtMs(row, group))
  const healthy = healthyAt.filter((atMs) => atMs <= nowMs).length
  const due = healthyAt.filter((atMs) => atMs > nowMs && Number.isFinite(atMs))
  const chosen = drainable.toSorted(byName).slice(0, Math.max(0, mayMove(group, healthy)))
  return { marks: chosen.map(markOf), nextMs: earliest(due) }
}

/** Healthy − (Count − MaxParallel). */
function mayMove(group: TaskGroup, healthy: number): number {
  return healthy - (group.Count - (group.Migrate?.MaxParallel ?? 1))
}

function byName(a: AllocationRow, b: AllocationRow): number {
  return compareText(a.Name, b.Name) || compareText(a.ID, b.ID)
}

/** The latest of the deadlines that come close together: one look serves them all. */
function nextDeadline(nodes: readonly Draining[]): number | undefined {
  const ahead = nodes.flatMap(({ isDue, deadlineMs }) =>
    isDue || deadlineMs === undefined ? [] : [deadlineMs],
  )
  const first = earliest(ahead)
  if (first === undefined) return undefined
  return Math.max(...ahead.filter((atMs) => atMs <= first + DEADLINE_WINDOW_MS))
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((atMs) => atMs !== undefined)
  return known.length === 0 ? undefined : known.reduce((a, b) => Math.min(a, b))
}
