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
export interface OrganizationRole {
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
export const NO_ROLE: OrganizationRole = {
  isMember: false,
  isOwner: false,
  isOrganizationToken: false,
  access: new Set(),
  teamIds: new Set(),
}

type Flags<Names extends readonly string[]> = { readonly [N in Names[number]]: boolean }

type OrganizationPermissions = Flags<typeof v2.ORGANIZATION_PERMISSIONS>

export function organizationPermissions(role: OrganizationRole): OrganizationPermissions {
  const { isMember, isOwner, access } = role
  const hasAccess = (name: OrganizationAccess): boolean => isOwner || access.has(name)
  return {
    'can-update': isOwner,
    'can-destroy': isOwner && !role.isOrganizationToken,
    'can-traverse': isMember,
    'can-create-team': hasAccess('manage-teams'),
    // At least in the default project; each project has its own permission.
    'can-create-workspace': hasAccess('manage-workspaces') || hasAccess('manage-projects'),
    'can-create-project': hasAccess('manage-projects'),
    'can-manage-users': hasAccess('manage-membership'),
    'can-manage-tags': hasAccess('manage-projects'),
    'can-read-policies': hasAccess('manage-policies') || hasAccess('read-policies'),
    'can-update-policies': hasAccess('manage-policies'),
    'can-update-api-token': isOwner,
  }
}

/** Inputs of the permissions on one project, besides the role. */
export interface ProjectAccessInput {
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

const WORKSPACE_READ_ACCESS: readonly OrganizationAccess[] = [
  'manage-workspaces',
  'read-workspaces',
  'manage-policies',
  'manage-policy-overrides',
  'manage-agent-pools',
]

export function projectRights(role: OrganizationRole, input: ProjectAccessInput): ProjectRights {
  const { isOwner, access } = role
  const managesProjects = isOwner || access.has('manage-projects')
  const anyAccess = (test: (one: ProjectAccessInput['accesses'][number]) => boolean): boolean =>
    managesProjects || input.accesses.some(test)
  const readsAll =
    access.has('read-projects') || WORKSPACE_READ_ACCESS.some((name) => access.has(name))
  const destroy = anyAccess(({ projectAccess }) => projectAccess.settings === 'delete')
  const deletesWorkspaces =
    access.has('manage-workspaces') || anyAccess(({ workspaceAccess }) => workspaceAccess.delete)
  return {
    read: managesProjects || readsAll || input.accesses.length > 0 || input.hasWorkspaceAccess,
    update: anyAccess(({ projectAccess }) => projectAccess.settings !== 'read'),
    destroy,
    forceDestroy: isOwner || (input.allowForceDelete && destroy && deletesWorkspaces),
    createWorkspace:
      anyAccess(({ workspaceAccess }) => workspaceAccess.create) ||
      (input.isDefault && access.has('manage-workspaces')),
    moveWorkspace: anyAccess(({ workspaceAccess }) => workspaceAccess.move),
    manageTags: anyAccess(isWriter),
    // Only the admin level, regardless of custom access.
    replaceTags: anyAccess(({ access: level }) => level === 'admin'),
    readTeams: anyAccess(({ projectAccess }) => projectAccess.teams !== 'none'),
    manageTeams: anyAccess(({ projectAccess }) => projectAccess.teams === 'manage'),
  }
}

/** Adding tags requires the write role or higher. */
function isWriter({ access, projectAccess }: ProjectAccessInput['accesses'][number]): boolean {
  if (access === 'custom') return projectAccess.settings !== 'read'
  return access !== 'read'
}

type ProjectPermissions = Flags<typeof v2.PROJECT_PERMISSIONS>

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
export interface WorkspaceAccessInput {
  /** Accesses of the caller's teams to its project. */
  readonly projectAccesses: ProjectAccessInput['accesses']
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

export function workspaceRights(
  role: OrganizationRole,
  input: WorkspaceAccessInput,
): WorkspaceRights {
  const { isOwner, access } = role
  const managesWorkspaces = isOwner || access.has('manage-workspaces')
  const { projectAccesses, accesses } = input
  const values = [
    ...projectAccesses.map(({ workspaceAccess }) => workspaceAccess),
    ...accesses.map((one) => one.values),
  ]
  const anyValues = (test: (one: (typeof values)[number]) => boolean): boolean =>
    managesWorkspaces || values.some(test)
  const isAdmin =
    managesWorkspaces ||
    accesses.some((one) => one.access === 'admin') ||
    projectAccesses.some((one) => one.access === 'admin')
  const isMaintainer = isAdmin || projectAccesses.some((one) => one.access === 'maintain')
  const destroy = isMaintainer || projectAccesses.some((one) => one.workspaceAccess.delete)
  const mayRun = !role.isOrganizationToken
  const mayLock =
    managesWorkspaces ||
    projectAccesses.some(({ workspaceAccess }) => workspaceAccess.locking) ||
    accesses.some((one) => one.values['workspace-locking'])
  const mayPlan = anyValues(({ runs }) => runs !== 'read')
  return {
    read:
      managesWorkspaces ||
      values.length > 0 ||
      access.has('manage-projects') ||
      access.has('read-projects') ||
      WORKSPACE_READ_ACCESS.some((name) => access.has(name)),
    update: isMaintainer,
    destroy,
    forceDestroy: isOwner || (input.allowForceDelete && destroy),
    queuePlan: mayRun && mayPlan,
    queueApply: mayRun && anyValues(({ runs }) => runs === 'apply'),
    lock: mayLock,
    forceUnlock: isAdmin,
    readVariables: anyValues(({ variables }) => variables !== 'none'),
    updateVariables: anyValues(({ variables }) => variables === 'write'),
    readState: anyValues((one) => STATE_READ_LEVELS.has(one['state-versions'])),
    readOutputs: anyValues((one) => one['state-versions'] !== 'none'),
    // State can be changed without a run only by callers who may run, which excludes organization
    // tokens.
    writeState: mayRun && anyValues((one) => one['state-versions'] === 'write'),
    manageTags: mayPlan,
    replaceTags: isAdmin,
    overridePolicies:
      isOwner ||
      access.has('manage-policy-overrides') ||
      (access.has('delegate-policy-overrides') && values.some((one) => one['policy-overrides'])),
    manageTeams: isAdmin,
  }
}

/** Values of `state-versions` that include more than outputs. */
const STATE_READ_LEVELS: ReadonlySet<string> = new Set(['read', 'write'])

type WorkspacePermissions = Flags<typeof v2.WORKSPACE_PERMISSIONS>

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
  role: OrganizationRole,
  team: Pick<TeamRow, 'id' | 'isOwners' | 'visibility' | 'allowMemberTokenManagement'>,
): TeamRights {
  const { isOwner, isMember, access, teamIds } = role
  const isTeamMember = teamIds.has(team.id)
  // Only an owner may add owners, or manage tokens of the owners team.
  const managesTeam = isOwner || (!team.isOwners && access.has('manage-teams'))
  const seesSecretTeams = isOwner || access.has('access-secret-teams') || access.has('manage-teams')
  return {
    read: isMember && (team.visibility === 'organization' || isTeamMember || seesSecretTeams),
    update: managesTeam,
    destroy: managesTeam && !team.isOwners,
    updateMembers: isOwner || (!team.isOwners && access.has('manage-membership')),
    updateAccess: !team.isOwners && (isOwner || access.has('manage-organization-access')),
    manageTokens:
      managesTeam || (isTeamMember && !team.isOwners && team.allowMemberTokenManagement),
  }
}

type TeamPermissions = Flags<typeof v2.TEAM_PERMISSIONS>

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
export function withImpliedAccess(
  access: ReadonlySet<OrganizationAccess>,
): ReadonlySet<OrganizationAccess> {
  const withImplied = new Set(access)
  for (const [name, ...implied] of IMPLIED_ACCESS)
    if (withImplied.has(name)) for (const one of implied) withImplied.add(one)
  return withImplied
}

/** Ordered so that a single pass yields the transitive closure. */
export const IMPLIED_ACCESS: readonly (readonly [OrganizationAccess, ...OrganizationAccess[]])[] = [
  ['manage-organization-access', 'manage-teams'],
  ['manage-teams', 'manage-membership'],
  ['manage-projects', 'manage-workspaces'],
  ['read-projects', 'read-workspaces'],
  ['manage-workspaces', 'read-workspaces'],
]
