import { compareText } from '@reeve/kit/sorted-list.ts'
import type { GovernanceContext } from '../context.ts'
import { teamRights } from '../permissions.ts'
import type { Seat } from '../standing.ts'

export interface Window {
  readonly skip: number
  readonly take: number
}

export interface AccessPage<R> {
  readonly accesses: readonly R[]
  /** That the caller may see. */
  readonly total: number
}

/** Whether the caller may know of the team (secret teams only by some). */
export function seesTeam({ store }: GovernanceContext, seat: Seat, teamId: string): boolean {
  const team = store.tables.teams.find(teamId)
  return team !== undefined && teamRights(seat.standing, team).read
}

/** One page of accesses, the oldest first. There are as many as teams at most. */
export function pageOf<R extends { readonly id: string; readonly teamId: string }>(
  context: GovernanceContext,
  {
    table,
    rows,
    seat,
    window,
  }: {
    readonly table: { createIndexOf(key: string): number | undefined }
    readonly rows: readonly R[]
    readonly seat: Seat
    readonly window: Window
  },
): AccessPage<R> {
  const ageOf = ({ id }: R): number => table.createIndexOf(id) ?? 0
  const shown = rows
    .filter(({ teamId }) => seesTeam(context, seat, teamId))
    .toSorted((a, b) => ageOf(a) - ageOf(b) || compareText(a.id, b.id))
  return {
    accesses: shown.slice(window.skip, window.skip + window.take),
    total: shown.length,
  }
}
