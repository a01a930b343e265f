import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  UNSEEN,
  type GovernanceRefusal,
  type ProjectRow,
  type WorkspaceRow,
} from '../../model/index.ts'
import { put, scopedKey, type Change } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findProject, rightsOnProject, type SeenProject } from '../standing.ts'
import { memberEnd } from '../variable-sets/set-members.ts'
import { withDuration } from './auto-destroy.ts'

/** Returns the project if the caller may move workspaces into it. */
export function findDestination(
  context: GovernanceContext,
  caller: GovernanceCaller,
  projectId: string,
): Result<SeenProject, GovernanceRefusal> {
  const seen = findProject(context, caller, projectId)
  return seen.ok && !seen.value.rights.moveWorkspace ? err(UNSEEN) : seen
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
  const destination = findDestination(context, caller, request.projectId)
  if (!destination.ok) return destination
  const ids = [...new Set(request.workspaceIds)]
  const rows = ids.map((id) => findMovable(context, destination.value, id))
  const refused = ids.filter((_id, i) => rows[i] === undefined)
  if (refused.length > 0) {
    const detail = `Not found or not movable by you: ${refused.join(', ')}`
    return err({ code: 'forbidden', detail })
  }
  const { project } = destination.value
  await commitWrite(context, {
    action: 'WorkspaceMoved',
    caller,
    organizationId: project.organizationId,
    subjects: ids,
    changes: rows.flatMap((row) => (row === undefined ? [] : moveChanges(context, row, project))),
  })
  return ok(undefined)
}

/** Returns a workspace of the same organization that the caller may move out of its project. */
function findMovable(
  context: GovernanceContext,
  destination: SeenProject,
  id: string,
): WorkspaceRow | undefined {
  const { workspaces, projects } = context.store.tables
  const row = workspaces.find(id)
  if (row === undefined || row.organizationId !== destination.organization.id) return undefined
  const source = projects.get(row.projectId)
  return rightsOnProject(context, destination, source).moveWorkspace ? row : undefined
}

/** Returns the changes that move one workspace. */
function moveChanges(
  context: GovernanceContext,
  before: WorkspaceRow,
  project: ProjectRow,
): readonly Change[] {
  if (before.projectId === project.id) return []
  const workspace = { ...inProject(before, project), updatedMs: context.clock.nowMs() }
  return [put('workspaces', workspace), ...movedAccesses(context, workspace)]
}

/**
 * Returns a workspace in another project; an inherited duration is replaced by that of the project.
 */
export function inProject(before: WorkspaceRow, project: ProjectRow): WorkspaceRow {
  const moved = { ...before, projectId: project.id }
  return before.inheritsProjectAutoDestroy
    ? withDuration(moved, project.autoDestroyActivityDuration)
    : moved
}

/**
 * Returns the changes to rows that depend on the project: team accesses contain its ID, and
 * variable sets of the former project no longer apply.
 */
export function movedAccesses(
  { store }: GovernanceContext,
  { id, projectId }: WorkspaceRow,
): readonly Change[] {
  const { team_workspaces: accesses, variable_sets: sets } = store.tables
  const isForeign = (variableSetId: string): boolean => {
    const owner = sets.find(variableSetId)?.projectId ?? null
    return owner !== null && owner !== projectId
  }
  return [
    ...accesses
      .rowsIn('workspace', id)
      .filter((row) => row.projectId !== projectId)
      .map((row) => put('team_workspaces', { ...row, projectId })),
    ...memberEnd(store.tables, 'member', scopedKey('workspaces', id), ({ variableSetId }) =>
      isForeign(variableSetId),
    ),
  ]
}
