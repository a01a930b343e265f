import type { Job, TaskGroup } from '@reeve/contract'
import {
  allocationIndex,
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
} from '../../model/index.ts'
import { byName, isOlder, type Classified, type Deferred } from './classify.ts'
import { NameIndex } from './names.ts'
import { REASONS } from './reasons.ts'
import { needsReplacement } from './update-kind.ts'

/** Why an allocation is to be placed; `previous` is the one it takes the place of. */
export type Placement =
  | { readonly why: 'missing'; readonly index: number }
  | {
      readonly why: 'lost' | 'migrate' | 'failed' | 'destructive'
      readonly index: number
      readonly previous: AllocationRow
    }

export interface Stop {
  readonly row: AllocationRow
  readonly reason: string
  /** Its node cannot say how it ended, so the servers do. */
  readonly lost?: boolean | undefined
}

/** What a group needs. Nothing here has looked for room yet. */
export interface GroupChanges {
  readonly group: TaskGroup
  readonly place: readonly Placement[]
  readonly stop: readonly Stop[]
  /** Stay where they are and take over the new version. */
  readonly update: readonly AllocationRow[]
  readonly later: readonly Deferred[]
  readonly ignored: number
}

export interface ReconcileContext {
  readonly job: Job
  /** The version that an allocation runs. */
  readonly findJobOf: (row: AllocationRow) => Job | undefined
  /** Whether the allocation's node would still take the new version of its group. */
  readonly canStay: (row: AllocationRow, group: TaskGroup) => boolean
}

/**
 * Brings one group of a service or batch job to its count (scheduling reference §6.4–6.6). All
 * destructive updates are made in one go: spreading them over time is what deployments add.
 */
export function reconcileGroup(
  group: TaskGroup,
  classified: Classified,
  context: ReconcileContext,
): GroupChanges {
  const { migrate, lost, failed } = classified
  const surplus = chooseSurplus(classified, group.Count)
  const staying = classified.keep.filter((row) => !surplus.has(row))
  const moving = migrate.filter((row) => !surplus.has(row))
  const leaving = moving.filter((row) => row.DesiredTransition?.MigrateDisablePlacement !== true)
  const updates = sortUpdates(staying, group, context)
  const room = group.Count - staying.length - moving.length
  const again = failed.slice(0, room)
  const replaced = lost.slice(0, room - again.length)
  const names = new NameIndex(group.Count, [...staying, ...moving].map(indexOf))
  const missing = room - again.length - replaced.length
  return {
    group,
    place: [
      ...updates.destructive.map((row) => replacing('destructive', row, indexOf(row))),
      ...leaving.map((row) => replacing('migrate', row, indexOf(row))),
      ...again.map((row) => replacing('failed', row, names.take(indexOf(row)))),
      ...replaced.map((row) => replacing('lost', row, names.take(indexOf(row)))),
      ...Array.from({ length: missing }, () => newPlacement(names.take(undefined))),
    ],
    stop: [
      ...[...surplus].filter(canBeStopped).map((row) => ({ row, reason: REASONS.notNeeded })),
      ...moving.map((row) => ({ row, reason: REASONS.migrating })),
      ...failed.slice(again.length).map((row) => ({ row, reason: REASONS.notNeeded })),
      ...lost.map((row) => ({ row, reason: REASONS.lost, lost: true })),
    ],
    update: updates.inPlace,
    later: classified.later.filter(({ row }) => updates.ignored.has(row)),
    ignored: updates.ignored.size,
  }
}

/**
 * Too many: those that must move anyway go first, then failed ones that nobody replaces, then
 * second holders of a name, then the highest indexes. Finished work goes last: it costs nothing.
 */
function chooseSurplus({ keep, migrate }: Classified, count: number): ReadonlySet<AllocationRow> {
  const excess = keep.length + migrate.length - count
  if (excess <= 0) return new Set()
  const mustMove = new Set(migrate)
  const seen = new Set<number>()
  const ranked = [...keep, ...migrate].map((row) => {
    const again = seen.has(indexOf(row))
    seen.add(indexOf(row))
    return { row, rank: surplusRank(row, again, mustMove) }
  })
  const order = ranked.toSorted((a, b) => b.rank - a.rank || byName(b.row, a.row))
  return new Set(order.slice(0, excess).map(({ row }) => row))
}

function surplusRank(
  row: AllocationRow,
  again: boolean,
  mustMove: ReadonlySet<AllocationRow>,
): number {
  if (row.ClientStatus === 'complete') return 0
  if (mustMove.has(row)) return 4
  if (row.ClientStatus === 'failed') return 3
  return again ? 2 : 1
}

/** Finished work of a batch job is over budget at most on paper. */
function canBeStopped(row: AllocationRow): boolean {
  return !isServerTerminal(row) && row.ClientStatus !== 'complete'
}

interface SortedUpdates {
  readonly ignored: ReadonlySet<AllocationRow>
  readonly inPlace: readonly AllocationRow[]
  readonly destructive: readonly AllocationRow[]
}

function sortUpdates(
  rows: readonly AllocationRow[],
  group: TaskGroup,
  context: ReconcileContext,
): SortedUpdates {
  const inPlace: AllocationRow[] = []
  const destructive: AllocationRow[] = []
  const ignored = new Set<AllocationRow>()
  for (const row of rows) {
    const kind = updateKind(row, group, context)
    if (kind === 'none') ignored.add(row)
    else if (kind === 'in-place') inPlace.push(row)
    else destructive.push(row)
  }
  return { ignored, inPlace, destructive }
}

/** Also what system jobs ask of each allocation that stays on its node. */
export function updateKind(
  row: AllocationRow,
  group: TaskGroup,
  { job, findJobOf, canStay }: ReconcileContext,
): 'none' | 'in-place' | 'destructive' {
  if (!isOlder(row, job) || isServerTerminal(row)) return 'none'
  // A version number says nothing across a purge: the old job of that number may be another one.
  const before = row.CreateIndex < job.CreateIndex ? undefined : findJobOf(row)
  if (before === undefined || needsReplacement(before, job, group.Name)) return 'destructive'
  if (isClientTerminal(row)) return 'none'
  return canStay(row, group) ? 'in-place' : 'destructive'
}

function indexOf(row: AllocationRow): number {
  return allocationIndex(row.Name)
}

function newPlacement(index: number): Placement {
  return { why: 'missing', index }
}

function replacing(
  why: 'lost' | 'migrate' | 'failed' | 'destructive',
  previous: AllocationRow,
  index: number,
): Placement {
  return { why, previous, index }
}
