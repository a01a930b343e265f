import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  UNSEEN,
  type GovernanceRefusal,
  type ProjectRow,
  type WorkspaceRow,
} from '../../model/index.ts'
import { foldName, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import {
  workspaceRights,
  type Standing,
  type WorkspaceFacts,
  type WorkspaceRight,
  type WorkspaceRights,
} from '../permissions.ts'
import { findSeat, seatIn, type Seat } from '../standing.ts'

/** A workspace that the caller may read, with the caller's permissions on it. */
export interface SeenWorkspace extends Seat {
  readonly workspace: WorkspaceRow
  readonly project: ProjectRow
  readonly rights: WorkspaceRights
}

/** A workspace is addressed by ID or by name; both behave alike. */
export type WorkspaceAddress =
  | { readonly workspaceId: string }
  | { readonly organizationName: string; readonly workspaceName: string }

export function findWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Result<SeenWorkspace, GovernanceRefusal> {
  const { workspaces } = context.store.tables
  if ('workspaceId' in address) {
    const workspace = workspaces.find(address.workspaceId)
    if (workspace === undefined) return err(UNSEEN)
    const seat = seatIn(context, caller, workspace.organizationId)
    return seat.ok ? seenOrNot(context, seat.value, workspace) : seat
  }
  const seat = findSeat(context, caller, address.organizationName)
  if (!seat.ok) return seat
  const group = scopedKey(seat.value.organization.id, foldName(address.workspaceName))
  const [id] = workspaces.keysIn('name', group)
  return id === undefined ? err(UNSEEN) : seenOrNot(context, seat.value, workspaces.get(id))
}

function seenOrNot(
  context: GovernanceContext,
  seat: Seat,
  workspace: WorkspaceRow,
): Result<SeenWorkspace, GovernanceRefusal> {
  const seen = seenWorkspace(context, seat, workspace)
  return seen.rights.read ? ok(seen) : err(UNSEEN)
}

/** Returns the workspace if the caller has the permission on it. */
export function findWorkspaceWith(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { address, right }: { readonly address: WorkspaceAddress; readonly right: WorkspaceRight },
): Result<SeenWorkspace, GovernanceRefusal> {
  const seen = findWorkspace(context, caller, address)
  return seen.ok && !seen.value.rights[right] ? err(UNSEEN) : seen
}

/**
 * Reports whether runs of the workspace execute as jobs of this cluster, by its own or inherited
 * mode.
 */
export function executesHere({
  workspace: { overwritesExecutionMode, executionMode },
  organization: { defaultExecutionMode },
}: Pick<SeenWorkspace, 'workspace' | 'organization'>): boolean {
  return (overwritesExecutionMode ? executionMode : defaultExecutionMode) === 'remote'
}

/** Returns a workspace with the permissions of a member of its organization, who may have none. */
export function seenWorkspace(
  context: GovernanceContext,
  seat: Seat,
  workspace: WorkspaceRow,
): SeenWorkspace {
  return {
    ...seat,
    workspace,
    project: context.store.tables.projects.get(workspace.projectId),
    rights: rightsOnWorkspace(context, seat, workspace),
  }
}

function rightsOnWorkspace(
  context: GovernanceContext,
  { organization, standing }: Seat,
  workspace: Pick<WorkspaceRow, 'id' | 'projectId'>,
): WorkspaceRights {
  return workspaceRights(standing, {
    allowForceDelete: organization.allowForceDeleteWorkspaces,
    ...accessesTo(context, standing, workspace),
  })
}

function accessesTo(
  { store }: GovernanceContext,
  { teamIds, isOwner }: Standing,
  workspace: Pick<WorkspaceRow, 'id' | 'projectId'>,
): Pick<WorkspaceFacts, 'projectAccesses' | 'accesses'> {
  // Owners need no access, and a site administrator is in no team.
  if (isOwner) return { projectAccesses: [], accesses: [] }
  const { team_projects: toProject, team_workspaces: toWorkspace } = store.tables
  const ids = [...teamIds]
  return {
    projectAccesses: ids.flatMap((id) =>
      toProject.rowsIn('pair', scopedKey(id, workspace.projectId)),
    ),
    accesses: ids.flatMap((id) => toWorkspace.rowsIn('pair', scopedKey(id, workspace.id))),
  }
}

/**
 * Returns the workspaces that the caller may read; undefined if these are all of the organization.
 * `workspaceRights` alone decides. Grants are additive, so read access to a project includes every
 * workspace in it, and only the others are checked one by one.
 */
export function readableWorkspaces(
  context: GovernanceContext,
  seat: Seat,
): ReadonlySet<string> | undefined {
  const { organization, standing } = seat
  const allowForceDelete = organization.allowForceDeleteWorkspaces
  const nothingSpecial = { allowForceDelete, projectAccesses: [], accesses: [] }
  if (workspaceRights(standing, nothingSpecial).read) return undefined
  const key = [organization.id, ...standing.teamIds, '!', ...standing.access].join(' ')
  const found = context.workspaceScopes.find(key, versionOf(context), () =>
    decideWorkspaces(context, seat),
  )
  const all = context.store.tables.workspaces.countIn('organization', organization.id)
  // Undefined lets a page be read from the index without a filter.
  return found.size === all ? undefined : found
}

function versionOf({ store }: GovernanceContext): string {
  const { team_projects, team_workspaces, workspaces } = store.tables
  return `${team_projects.lastIndex} ${team_workspaces.lastIndex} ${workspaces.lastIndex}`
}

function decideWorkspaces(context: GovernanceContext, seat: Seat): ReadonlySet<string> {
  const { team_projects, team_workspaces, workspaces } = context.store.tables
  const found = new Set<string>()
  for (const teamId of seat.standing.teamIds) {
    for (const { projectId } of team_projects.rowsIn('team', teamId))
      // With an ID that no workspace has, the result is the access that the project alone grants.
      if (rightsOnWorkspace(context, seat, { id: '', projectId }).read)
        for (const id of workspaces.keysIn('project', projectId)) found.add(id)
    for (const { workspaceId, projectId } of team_workspaces.rowsIn('team', teamId))
      if (rightsOnWorkspace(context, seat, { id: workspaceId, projectId }).read)
        found.add(workspaceId)
  }
  return found
}
