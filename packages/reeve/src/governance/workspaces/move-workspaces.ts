import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type ProjectRow,
  type WorkspaceRow,
} from '../../model/index.ts'
import { put, scopedKey, type Change } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findProject, projectRightsOf, type VisibleProject } from '../authorization.ts'
import { deleteMembersChanges } from '../variable-sets/set-members.ts'
import { withAutoDestroyDuration } from './auto-destroy.ts'

/** Returns the project if the caller may move workspaces into it. */
export function findMoveDestination(
  context: GovernanceContext,
  caller: GovernanceCaller,
  projectId: string,
): Result<VisibleProject, GovernanceRefusal> {
  const found = findProject(context, caller, projectId)
  return found.ok && !found.value.rights.moveWorkspace ? err(NOT_FOUND) : found
}

/**
 * Moves all workspaces or none. The error lists the IDs that the caller may not move, whether or
 * not they exist.
 */
export async function moveWorkspaces(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly projectId: string; readonly workspaceIds: readonly string[] },
): Promise<Result<void, GovernanceRefusal>> {
  const destination = findMoveDestination(context, caller, request.projectId)
  if (!destination.ok) return destination
  const ids = [...new Set(request.workspaceIds)]
  const rows = ids.map((id) => findMovableWorkspace(context, destination.value, id))
  const notMovable = ids.filter((_id, i) => rows[i] === undefined)
  if (notMovable.length > 0) {
    const detail = `Not found or not movable by you: ${notMovable.join(', ')}`
    return err({ code: 'forbidden', detail })
  }
  const { project } = destination.value
  await commitWrite(context, {
    caller,
    organizationId: project.organizationId,
    affectedIds: ids,
    changes: rows.flatMap((row) => (row === undefined ? [] : moveChanges(context, row, project))),
  })
  return ok(undefined)
}

/** Returns a workspace of the same organization that the caller may move out of its project. */
function findMovableWorkspace(
  context: GovernanceContext,
  destination: VisibleProject,
  id: string,
): WorkspaceRow | undefined {
  const { workspaces, projects } = context.store.tables
  const row = workspaces.find(id)
  if (row === undefined || row.organizationId !== destination.organization.id) return undefined
  const source = projects.get(row.projectId)
  return projectRightsOf(context, destination, source).moveWorkspace ? row : undefined
}

/** Returns the changes that move one workspace. */
function moveChanges(
  context: GovernanceContext,
  before: WorkspaceRow,
  project: ProjectRow,
): readonly Change[] {
  if (before.projectId === project.id) return []
  const workspace = { ...moveToProject(before, project), updatedMs: context.clock.nowMs() }
  return [put('workspaces', workspace), ...moveAccessChanges(context, workspace)]
}

/**
 * Returns a workspace in another project; an inherited duration is replaced by that of the project.
 */
export function moveToProject(before: WorkspaceRow, project: ProjectRow): WorkspaceRow {
  const moved = { ...before, projectId: project.id }
  return before.inheritsProjectAutoDestroy
    ? withAutoDestroyDuration(moved, project.autoDestroyActivityDuration)
    : moved
}

/**
 * Returns the changes to rows that depend on the project: team accesses contain its ID, and
 * variable sets of the former project no longer apply.
 */
export function moveAccessChanges(
  { store }: GovernanceContext,
  { id, projectId }: WorkspaceRow,
): readonly Change[] {
  const { team_workspaces: accesses, variable_sets: sets } = store.tables
  const belongsToOtherProject = (variableSetId: string): boolean => {
    const owner = sets.find(variableSetId)?.projectId ?? null
    return owner !== null && owner !== projectId
  }
  return [
    ...accesses
      .rowsByIndex('workspace', id)
      .filter((row) => row.projectId !== projectId)
      .map((row) => put('team_workspaces', { ...row, projectId })),
    ...deleteMembersChanges(
      store.tables,
      'member',
      scopedKey('workspaces', id),
      ({ variableSetId }) => belongsToOtherProject(variableSetId),
    ),
  ]
}
