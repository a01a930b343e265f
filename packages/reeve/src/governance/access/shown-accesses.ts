import { compareText } from '@reeve/kit/sorted-list.ts'
import type { GovernanceContext } from '../context.ts'
import { teamRights } from '../permissions.ts'
import type { VisibleOrganization } from '../standing.ts'

export interface PageRange {
  readonly offset: number
  readonly limit: number
}

export interface AccessPage<R> {
  readonly accesses: readonly R[]
  /** That the caller may see. */
  readonly total: number
}

/** Whether the caller may know of the team (secret teams only by some). */
export function canSeeTeam(
  { store }: GovernanceContext,
  visible: VisibleOrganization,
  teamId: string,
): boolean {
  const team = store.tables.teams.find(teamId)
  return team !== undefined && teamRights(visible.role, team).read
}

/** One page of accesses, the oldest first. There are as many as teams at most. */
export function pageOfAccesses<R extends { readonly id: string; readonly teamId: string }>(
  context: GovernanceContext,
  {
    table,
    rows,
    visible,
    window,
  }: {
    readonly table: { createIndexOf(key: string): number | undefined }
    readonly rows: readonly R[]
    readonly visible: VisibleOrganization
    readonly window: PageRange
  },
): AccessPage<R> {
  const ageOf = ({ id }: R): number => table.createIndexOf(id) ?? 0
  const visibleRows = rows
    .filter(({ teamId }) => canSeeTeam(context, visible, teamId))
    .toSorted((a, b) => ageOf(a) - ageOf(b) || compareText(a.id, b.id))
  return {
    accesses: visibleRows.slice(window.offset, window.offset + window.limit),
    total: visibleRows.length,
  }
}
