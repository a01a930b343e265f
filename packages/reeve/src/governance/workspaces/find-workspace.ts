import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type ProjectRow,
  type WorkspaceRow,
} from '../../model/index.ts'
import { normalizeName, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import {
  workspaceRights,
  type OrganizationRole,
  type WorkspaceAccessInput,
  type WorkspaceRight,
  type WorkspaceRights,
} from '../permissions.ts'
import {
  findOrganization,
  findOrganizationById,
  type VisibleOrganization,
} from '../authorization.ts'

/** A workspace that the caller may read, with the caller's permissions on it. */
export interface VisibleWorkspace extends VisibleOrganization {
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
): Result<VisibleWorkspace, GovernanceRefusal> {
  const { workspaces } = context.store.tables
  if ('workspaceId' in address) {
    const workspace = workspaces.find(address.workspaceId)
    if (workspace === undefined) return err(NOT_FOUND)
    const found = findOrganizationById(context, caller, workspace.organizationId)
    return found.ok ? requireReadable(context, found.value, workspace) : found
  }
  const found = findOrganization(context, caller, address.organizationName)
  if (!found.ok) return found
  const group = scopedKey(found.value.organization.id, normalizeName(address.workspaceName))
  const [id] = workspaces.keysByIndex('name', group)
  return id === undefined
    ? err(NOT_FOUND)
    : requireReadable(context, found.value, workspaces.get(id))
}

function requireReadable(
  context: GovernanceContext,
  visible: VisibleOrganization,
  workspace: WorkspaceRow,
): Result<VisibleWorkspace, GovernanceRefusal> {
  const candidate = toVisibleWorkspace(context, visible, workspace)
  return candidate.rights.read ? ok(candidate) : err(NOT_FOUND)
}

/** Returns the workspace if the caller has the permission on it. */
export function findWorkspaceWith(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { address, right }: { readonly address: WorkspaceAddress; readonly right: WorkspaceRight },
): Result<VisibleWorkspace, GovernanceRefusal> {
  const found = findWorkspace(context, caller, address)
  return found.ok && !found.value.rights[right] ? err(NOT_FOUND) : found
}

/**
 * Reports whether runs of the workspace execute as jobs of this cluster, by its own or inherited
 * mode.
 */
export function usesRemoteExecution({
  workspace: { overwritesExecutionMode, executionMode },
  organization: { defaultExecutionMode },
}: Pick<VisibleWorkspace, 'workspace' | 'organization'>): boolean {
  return (overwritesExecutionMode ? executionMode : defaultExecutionMode) === 'remote'
}

/** Returns a workspace with the permissions of a member of its organization, who may have none. */
export function toVisibleWorkspace(
  context: GovernanceContext,
  visible: VisibleOrganization,
  workspace: WorkspaceRow,
): VisibleWorkspace {
  return {
    ...visible,
    workspace,
    project: context.store.tables.projects.get(workspace.projectId),
    rights: workspaceRightsOf(context, visible, workspace),
  }
}

function workspaceRightsOf(
  context: GovernanceContext,
  { organization, role }: VisibleOrganization,
  workspace: Pick<WorkspaceRow, 'id' | 'projectId'>,
): WorkspaceRights {
  return workspaceRights(role, {
    allowForceDelete: organization.allowForceDeleteWorkspaces,
    ...workspaceAccessInput(context, role, workspace),
  })
}

function workspaceAccessInput(
  { store }: GovernanceContext,
  { teamIds, isOwner }: OrganizationRole,
  workspace: Pick<WorkspaceRow, 'id' | 'projectId'>,
): Pick<WorkspaceAccessInput, 'projectAccesses' | 'accesses'> {
  // Owners need no access, and a site administrator is in no team.
  if (isOwner) return { projectAccesses: [], accesses: [] }
  const { team_projects: toProject, team_workspaces: toWorkspace } = store.tables
  const ids = [...teamIds]
  return {
    projectAccesses: ids.flatMap((id) =>
      toProject.rowsByIndex('pair', scopedKey(id, workspace.projectId)),
    ),
    accesses: ids.flatMap((id) => toWorkspace.rowsByIndex('pair', scopedKey(id, workspace.id))),
  }
}

/**
 * Returns the workspaces that the caller may read; undefined if these are all of the organization.
 * `workspaceRights` alone decides. Grants are additive, so read access to a project includes every
 * workspace in it, and only the others are checked one by one.
 */
export function readableWorkspaceIds(
  context: GovernanceContext,
  visible: VisibleOrganization,
): ReadonlySet<string> | undefined {
  const { organization, role } = visible
  const allowForceDelete = organization.allowForceDeleteWorkspaces
  const baseline = { allowForceDelete, projectAccesses: [], accesses: [] }
  if (workspaceRights(role, baseline).read) return undefined
  const key = [organization.id, ...role.teamIds, '!', ...role.access].join(' ')
  const found = context.visibleWorkspacesCache.getOrCompute(key, accessVersion(context), () =>
    computeWorkspaceIds(context, visible),
  )
  const all = context.store.tables.workspaces.countByIndex('organization', organization.id)
  // Undefined lets a page be read from the index without a filter.
  return found.size === all ? undefined : found
}

function accessVersion({ store }: GovernanceContext): string {
  const { team_projects, team_workspaces, workspaces } = store.tables
  return `${team_projects.lastIndex} ${team_workspaces.lastIndex} ${workspaces.lastIndex}`
}

function computeWorkspaceIds(
  context: GovernanceContext,
  visible: VisibleOrganization,
): ReadonlySet<string> {
  const { team_projects, team_workspaces, workspaces } = context.store.tables
  const found = new Set<string>()
  for (const teamId of visible.role.teamIds) {
    for (const { projectId } of team_projects.rowsByIndex('team', teamId))
      // An ID that no workspace has yields the permissions that the project alone grants.
      if (workspaceRightsOf(context, visible, { id: '', projectId }).read)
        for (const id of workspaces.keysByIndex('project', projectId)) found.add(id)
    for (const { workspaceId, projectId } of team_workspaces.rowsByIndex('team', teamId))
      if (workspaceRightsOf(context, visible, { id: workspaceId, projectId }).read)
        found.add(workspaceId)
  }
  return found
}
