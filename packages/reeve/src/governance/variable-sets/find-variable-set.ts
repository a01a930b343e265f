import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { UNSEEN, type GovernanceRefusal, type VariableSetRow } from '../../model/index.ts'
import { foldName, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { findProject, findSeat, seatIn, type Seat } from '../standing.ts'
import { setsFor } from '../variables/effective-variables.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'
import { mayRead, mayWrite, reachOf, type SetReach, type VariableSetRight } from './set-rights.ts'

/** A variable set visible to the caller. */
export interface SeenVariableSet extends Seat {
  readonly set: VariableSetRow
}

/** Returns the variable set if the caller has the permission on it. */
export function findVariableSet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { variableSetId, right }: { readonly variableSetId: string; readonly right: VariableSetRight },
): Result<SeenVariableSet, GovernanceRefusal> {
  const set = context.store.tables.variable_sets.find(variableSetId)
  if (set === undefined) return err(UNSEEN)
  const seat = seatIn(context, caller, set.organizationId)
  if (!seat.ok) return seat
  const reach = reachOf(context, seat.value.standing)
  const may = right === 'update' ? mayWrite(reach, set) : mayRead(context, reach, set)
  return may ? ok({ ...seat.value, set }) : err(UNSEEN)
}

/** Returns the organization if the caller may create variable sets anywhere in it. */
export function findSetMaker(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<Seat & { readonly reach: SetReach }, GovernanceRefusal> {
  const seat = findSeat(context, caller, organizationName)
  if (!seat.ok) return seat
  const reach = reachOf(context, seat.value.standing)
  return reach.managesAll || reach.written.size > 0 ? ok({ ...seat.value, reach }) : err(UNSEEN)
}

/** Lists the sets of an organization that the caller may read, by name. */
export function listVariableSets(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, part }: { readonly organizationName: string; readonly part?: string },
): Result<readonly SeenVariableSet[], GovernanceRefusal> {
  const seat = findSeat(context, caller, organizationName)
  if (!seat.ok) return seat
  const { id } = seat.value.organization
  const wanted = foldName(part ?? '')
  const all = context.store.tables.variable_sets.rowsIn('organization', id)
  const found = all.filter(({ name }) => foldName(name).includes(wanted))
  return ok(readable(context, seat.value, found).toSorted(byName))
}

/** Returns the sets whose variables the runs of a workspace receive, highest precedence first. */
export function setsOfWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  workspaceId: string,
): Result<readonly SeenVariableSet[], GovernanceRefusal> {
  const address = { workspaceId }
  const seen = findWorkspaceWith(context, caller, { address, right: 'readVariables' })
  if (!seen.ok) return seen
  const { workspace, organization, standing } = seen.value
  const { priority, others } = setsFor(context.store.tables, workspace)
  return ok([...priority, ...others].map((set) => ({ organization, standing, set })))
}

/** Returns the sets that a project owns, and those that apply to all its workspaces. */
export function setsOfProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  projectId: string,
): Result<readonly SeenVariableSet[], GovernanceRefusal> {
  const seen = findProject(context, caller, projectId)
  if (!seen.ok) return seen
  const { variable_sets: sets, variable_set_members: members } = context.store.tables
  const found = new Set([
    ...sets.rowsIn('project', projectId),
    ...members
      .rowsIn('member', scopedKey('projects', projectId))
      .flatMap(({ variableSetId }) => sets.find(variableSetId) ?? []),
    ...sets.rowsIn('global', seen.value.organization.id),
  ])
  return ok(readable(context, seen.value, [...found]).toSorted(byName))
}

function readable(
  context: GovernanceContext,
  { organization, standing }: Seat,
  sets: readonly VariableSetRow[],
): readonly SeenVariableSet[] {
  const reach = reachOf(context, standing)
  return sets
    .filter((set) => mayRead(context, reach, set))
    .map((set) => ({ organization, standing, set }))
}

function byName({ set: a }: SeenVariableSet, { set: b }: SeenVariableSet): number {
  return compareText(foldName(a.name), foldName(b.name)) || compareText(a.id, b.id)
}
