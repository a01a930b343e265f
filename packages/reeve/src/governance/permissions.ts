import type { v2 } from '@reeve/contract'
import type {
  OrganizationAccess,
  TeamProjectRow,
  TeamRow,
  TeamWorkspaceRow,
} from '../model/index.ts'

/**
 * Permissions as pure functions of facts. Routes check them, lists are filtered by them, and the
 * `permissions` objects are built from them, so that all three agree. Grants are additive: a
 * narrower role never reduces a wider one.
 */

/** Role of a caller in one organization. */
export interface Standing {
  /** Whether the organization is visible to the caller. */
  readonly isMember: boolean
  /** Owners team, organization token or site administrator: all permissions. */
  readonly isOwner: boolean
  /** An organization token cannot start runs. */
  readonly isOrganizationToken: boolean
  /** Union of the access of the caller's teams. */
  readonly access: ReadonlySet<OrganizationAccess>
  readonly teamIds: ReadonlySet<string>
}

/** Role of a caller who is not a member. */
export const STRANGER: Standing = {
  isMember: false,
  isOwner: false,
  isOrganizationToken: false,
  access: new Set(),
  teamIds: new Set(),
}

type Flags<Names extends readonly string[]> = { readonly [N in Names[number]]: boolean }

export type OrganizationPermissions = Flags<typeof v2.ORGANIZATION_PERMISSIONS>

export function organizationPermissions(standing: Standing): OrganizationPermissions {
  const { isMember, isOwner, access } = standing
  const holds = (name: OrganizationAccess): boolean => isOwner || access.has(name)
  return {
    'can-update': isOwner,
    'can-destroy': isOwner && !standing.isOrganizationToken,
    'can-traverse': isMember,
    'can-create-team': holds('manage-teams'),
    // At least in the default project; each project has its own permission.
    'can-create-workspace': holds('manage-workspaces') || holds('manage-projects'),
    'can-create-project': holds('manage-projects'),
    'can-manage-users': holds('manage-membership'),
    'can-manage-tags': holds('manage-projects'),
    'can-read-policies': holds('manage-policies') || holds('read-policies'),
    'can-update-policies': holds('manage-policies'),
    'can-update-api-token': isOwner,
  }
}

/** Inputs of the permissions on one project, besides the role. */
export interface ProjectFacts {
  readonly isDefault: boolean
  /** Accesses of the caller's teams to the project. */
  readonly accesses: readonly Pick<TeamProjectRow, 'access' | 'projectAccess' | 'workspaceAccess'>[]
  /** Whether a team of the caller has access to one of its workspaces. */
  readonly hasWorkspaceAccess: boolean
  /** Setting of the organization. */
  readonly allowForceDelete: boolean
}

export interface ProjectRights {
  readonly read: boolean
  readonly update: boolean
  readonly destroy: boolean
  /** Deletes the project with its workspaces. */
  readonly forceDestroy: boolean
  readonly createWorkspace: boolean
  readonly moveWorkspace: boolean
  /** Add bindings and change values. */
  readonly manageTags: boolean
  readonly replaceTags: boolean
  readonly readTeams: boolean
  readonly manageTeams: boolean
}
export type ProjectRight = keyof ProjectRights

const READS_WORKSPACES: readonly OrganizationAccess[] = [
  'manage-workspaces',
  'read-workspaces',
  'manage-policies',
  'manage-policy-overrides',
  'manage-agent-pools',
]

export function projectRights(standing: Standing, facts: ProjectFacts): ProjectRights {
  const { isOwner, access } = standing
  const manages = isOwner || access.has('manage-projects')
  const any = (test: (one: ProjectFacts['accesses'][number]) => boolean): boolean =>
    manages || facts.accesses.some(test)
  const readsAll = access.has('read-projects') || READS_WORKSPACES.some((name) => access.has(name))
  const destroy = any(({ projectAccess }) => projectAccess.settings === 'delete')
  const deletesWorkspaces =
    access.has('manage-workspaces') || any(({ workspaceAccess }) => workspaceAccess.delete)
  return {
    read: manages || readsAll || facts.accesses.length > 0 || facts.hasWorkspaceAccess,
    update: any(({ projectAccess }) => projectAccess.settings !== 'read'),
    destroy,
    forceDestroy: isOwner || (facts.allowForceDelete && destroy && deletesWorkspaces),
    createWorkspace:
      any(({ workspaceAccess }) => workspaceAccess.create) ||
      (facts.isDefault && access.has('manage-workspaces')),
    moveWorkspace: any(({ workspaceAccess }) => workspaceAccess.move),
    manageTags: any(isWriter),
    // Only the admin level, regardless of custom access.
    replaceTags: any(({ access: level }) => level === 'admin'),
    readTeams: any(({ projectAccess }) => projectAccess.teams !== 'none'),
    manageTeams: any(({ projectAccess }) => projectAccess.teams === 'manage'),
  }
}

/** Adding tags requires the write role or higher. */
function isWriter({ access, projectAccess }: ProjectFacts['accesses'][number]): boolean {
  if (access === 'custom') return projectAccess.settings !== 'read'
  return access !== 'read'
}

export type ProjectPermissions = Flags<typeof v2.PROJECT_PERMISSIONS>

export function projectPermissions(rights: ProjectRights): ProjectPermissions {
  return {
    'can-update': rights.update,
    'can-destroy': rights.destroy,
    'can-create-workspace': rights.createWorkspace,
    'can-move-workspace': rights.moveWorkspace,
    'can-manage-tags': rights.manageTags,
    'can-read-teams': rights.readTeams,
    'can-manage-teams': rights.manageTeams,
  }
}

/** Inputs of the permissions on one workspace, besides the role. */
export interface WorkspaceFacts {
  /** Accesses of the caller's teams to its project. */
  readonly projectAccesses: ProjectFacts['accesses']
  /** Accesses of the caller's teams to the workspace itself. */
  readonly accesses: readonly Pick<TeamWorkspaceRow, 'access' | 'values'>[]
  readonly allowForceDelete: boolean
}

export interface WorkspaceRights {
  readonly read: boolean
  readonly update: boolean
  readonly destroy: boolean
  readonly forceDestroy: boolean
  readonly queuePlan: boolean
  readonly queueApply: boolean
  readonly lock: boolean
  readonly forceUnlock: boolean
  readonly readVariables: boolean
  readonly updateVariables: boolean
  readonly readState: boolean
  readonly readOutputs: boolean
  readonly writeState: boolean
  /** Add bindings and change values. */
  readonly manageTags: boolean
  readonly replaceTags: boolean
  readonly overridePolicies: boolean
  /** Manage the team accesses of the workspace. */
  readonly manageTeams: boolean
}
export type WorkspaceRight = keyof WorkspaceRights

export function workspaceRights(standing: Standing, facts: WorkspaceFacts): WorkspaceRights {
  const { isOwner, access } = standing
  const manages = isOwner || access.has('manage-workspaces')
  const { projectAccesses, accesses } = facts
  const values = [
    ...projectAccesses.map(({ workspaceAccess }) => workspaceAccess),
    ...accesses.map((one) => one.values),
  ]
  const any = (test: (one: (typeof values)[number]) => boolean): boolean =>
    manages || values.some(test)
  const isAdmin =
    manages ||
    accesses.some((one) => one.access === 'admin') ||
    projectAccesses.some((one) => one.access === 'admin')
  const maintains = isAdmin || projectAccesses.some((one) => one.access === 'maintain')
  const destroy = maintains || projectAccesses.some((one) => one.workspaceAccess.delete)
  const mayRun = !standing.isOrganizationToken
  const locks =
    manages ||
    projectAccesses.some(({ workspaceAccess }) => workspaceAccess.locking) ||
    accesses.some((one) => one.values['workspace-locking'])
  const plans = any(({ runs }) => runs !== 'read')
  return {
    read:
      manages ||
      values.length > 0 ||
      access.has('manage-projects') ||
      access.has('read-projects') ||
      READS_WORKSPACES.some((name) => access.has(name)),
    update: maintains,
    destroy,
    forceDestroy: isOwner || (facts.allowForceDelete && destroy),
    queuePlan: mayRun && plans,
    queueApply: mayRun && any(({ runs }) => runs === 'apply'),
    lock: locks,
    forceUnlock: isAdmin,
    readVariables: any(({ variables }) => variables !== 'none'),
    updateVariables: any(({ variables }) => variables === 'write'),
    readState: any((one) => READS_STATE.has(one['state-versions'])),
    readOutputs: any((one) => one['state-versions'] !== 'none'),
    // State can be changed without a run only by callers who may run, which excludes organization
    // tokens.
    writeState: mayRun && any((one) => one['state-versions'] === 'write'),
    manageTags: plans,
    replaceTags: isAdmin,
    overridePolicies:
      isOwner ||
      access.has('manage-policy-overrides') ||
      (access.has('delegate-policy-overrides') && values.some((one) => one['policy-overrides'])),
    manageTeams: isAdmin,
  }
}

/** Values of `state-versions` that include more than outputs. */
const READS_STATE: ReadonlySet<string> = new Set(['read', 'write'])

export type WorkspacePermissions = Flags<typeof v2.WORKSPACE_PERMISSIONS>

export function workspacePermissions(rights: WorkspaceRights): WorkspacePermissions {
  return {
    'can-update': rights.update,
    'can-destroy': rights.destroy,
    'can-force-delete': rights.forceDestroy,
    'can-queue-run': rights.queuePlan,
    'can-queue-apply': rights.queueApply,
    'can-queue-destroy': rights.queueApply,
    'can-lock': rights.lock,
    'can-unlock': rights.lock,
    'can-force-unlock': rights.forceUnlock,
    'can-read-settings': rights.read,
    'can-manage-tags': rights.manageTags,
    'can-read-variable': rights.readVariables,
    'can-update-variable': rights.updateVariables,
    'can-read-state-versions': rights.readState,
    'can-read-state-outputs': rights.readOutputs,
    'can-create-state-versions': rights.writeState,
  }
}

export interface TeamRights {
  readonly read: boolean
  /** Change name, visibility and settings. */
  readonly update: boolean
  readonly destroy: boolean
  readonly updateMembers: boolean
  readonly updateAccess: boolean
  readonly manageTokens: boolean
}

export function teamRights(
  standing: Standing,
  team: Pick<TeamRow, 'id' | 'isOwners' | 'visibility' | 'allowMemberTokenManagement'>,
): TeamRights {
  const { isOwner, isMember, access, teamIds } = standing
  const isIn = teamIds.has(team.id)
  // Only an owner may add owners, or manage tokens of the owners team.
  const manages = isOwner || (!team.isOwners && access.has('manage-teams'))
  const seesSecret = isOwner || access.has('access-secret-teams') || access.has('manage-teams')
  return {
    read: isMember && (team.visibility === 'organization' || isIn || seesSecret),
    update: manages,
    destroy: manages && !team.isOwners,
    updateMembers: isOwner || (!team.isOwners && access.has('manage-membership')),
    updateAccess: !team.isOwners && (isOwner || access.has('manage-organization-access')),
    manageTokens: manages || (isIn && !team.isOwners && team.allowMemberTokenManagement),
  }
}

export type TeamPermissions = Flags<typeof v2.TEAM_PERMISSIONS>

export function teamPermissions(rights: TeamRights): TeamPermissions {
  return {
    'can-update-membership': rights.updateMembers,
    'can-destroy': rights.destroy,
    'can-update-organization-access': rights.updateAccess,
    'can-update-api-token': rights.manageTokens,
    'can-update-visibility': rights.update,
    'can-view-api-token': rights.manageTokens,
  }
}

/** Returns the access with all implied access, which is also what documents show. */
export function closeAccess(
  access: ReadonlySet<OrganizationAccess>,
): ReadonlySet<OrganizationAccess> {
  const closed = new Set(access)
  for (const [name, ...implied] of IMPLIED_ACCESS)
    if (closed.has(name)) for (const one of implied) closed.add(one)
  return closed
}

/** Ordered so that a single pass yields the transitive closure. */
export const IMPLIED_ACCESS: readonly (readonly [OrganizationAccess, ...OrganizationAccess[]])[] = [
  ['manage-organization-access', 'manage-teams'],
  ['manage-teams', 'manage-membership'],
  ['manage-projects', 'manage-workspaces'],
  ['read-projects', 'read-workspaces'],
  ['manage-workspaces', 'read-workspaces'],
]
