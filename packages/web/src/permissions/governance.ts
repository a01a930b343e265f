import type { v2 } from '@reeve/contract'
import { firstDisabledReason, type DisabledReason } from './disabled-reason.ts'

/** A resource with the permissions of the caller, as the server computed them. */
interface WithPermissions<Name extends string> {
  readonly attributes: { readonly permissions: Readonly<Record<Name, boolean>> }
}

/** The only part of a resource that these checks read. */
type AttributesOf<Resource extends { readonly attributes: object }> = Pick<Resource, 'attributes'>

function requiresPermission<Name extends string>(
  resource: WithPermissions<Name>,
  permission: Name,
  requirement: string,
): DisabledReason {
  return resource.attributes.permissions[permission]
    ? undefined
    : `Permission denied: ${requirement}.`
}

const REQUIRES_OWNERS = 'requires the owners team or the organization token'
const REQUIRES_POLICY_MANAGER = 'requires the owners team or a team with Manage policies'

const REQUIRES_POLICY_READER =
  'requires the owners team, or a team with Manage policies or Read policies'

type OrganizationCheck = (organization: AttributesOf<v2.Organization>) => DisabledReason

/** Why an action in an organization is disabled. */
export const organizationDisabledReason = {
  update: (organization) => requiresPermission(organization, 'can-update', REQUIRES_OWNERS),
  destroy: (organization) =>
    requiresPermission(organization, 'can-destroy', 'requires the owners team'),
  createProject: (organization) =>
    requiresPermission(organization, 'can-create-project', 'requires a team with Manage projects'),
  createWorkspace: (organization) =>
    requiresPermission(
      organization,
      'can-create-workspace',
      'requires a team with Manage workspaces',
    ),
  createTeam: (organization) =>
    requiresPermission(organization, 'can-create-team', 'requires a team with Manage teams'),
  manageUsers: (organization) =>
    requiresPermission(organization, 'can-manage-users', 'requires a team with Manage membership'),
  updatePolicies: (organization) =>
    requiresPermission(organization, 'can-update-policies', REQUIRES_POLICY_MANAGER),
  readPolicies: (organization) =>
    requiresPermission(organization, 'can-read-policies', REQUIRES_POLICY_READER),
  /** The audit trail requires the permission to update the organization. */
  readAudit: (organization) => requiresPermission(organization, 'can-update', REQUIRES_OWNERS),
  manageTokens: (organization) =>
    requiresPermission(organization, 'can-update-api-token', REQUIRES_OWNERS),
  /** Reserved tag keys. */
  manageTagKeys: (organization) =>
    requiresPermission(
      organization,
      'can-manage-tags',
      'requires the owners team or a team with Manage projects',
    ),
} as const satisfies Record<string, OrganizationCheck>

type ProjectCheck = (project: AttributesOf<v2.Project>) => DisabledReason
const REQUIRES_PROJECT_ACCESS = 'requires a team with Manage projects, or access to the project'

/** Why an action on a project is disabled. */
export const projectDisabledReason = {
  update: (project) => requiresPermission(project, 'can-update', REQUIRES_PROJECT_ACCESS),
  destroy: (project) =>
    firstDisabledReason(
      project.attributes['is-default'] && 'The default project cannot be deleted.',
      project.attributes['workspace-count'] > 0 && 'Move its workspaces to another project first.',
      requiresPermission(project, 'can-destroy', REQUIRES_PROJECT_ACCESS),
    ),
  manageTags: (project) => requiresPermission(project, 'can-manage-tags', REQUIRES_PROJECT_ACCESS),
  moveWorkspaces: (project) =>
    requiresPermission(project, 'can-move-workspace', REQUIRES_PROJECT_ACCESS),
  createWorkspace: (project) =>
    requiresPermission(project, 'can-create-workspace', REQUIRES_PROJECT_ACCESS),
  /** Removing a tag requires the permission to update the project. */
  removeTags: (project) =>
    requiresPermission(project, 'can-update', `to remove a tag, ${REQUIRES_PROJECT_ACCESS}`),
  readTeams: (project) => requiresPermission(project, 'can-read-teams', REQUIRES_PROJECT_ACCESS),
  manageTeams: (project) =>
    requiresPermission(project, 'can-manage-teams', REQUIRES_PROJECT_ACCESS),
} as const satisfies Record<string, ProjectCheck>

/** The caller who attaches a namespace; undefined members are not known yet. */
interface NamespaceAttacher {
  readonly isAclEnabled: boolean | undefined
  readonly isSiteAdministrator: boolean | undefined
}

/** With ACLs enabled, only the site administrator attaches namespaces to policy sets. */
export function attachNamespaceDisabledReason(attacher: NamespaceAttacher): DisabledReason {
  return attacher.isAclEnabled === true && attacher.isSiteAdministrator === false
    ? 'Permission denied: requires the site administrator.'
    : undefined
}

type WorkspaceCheck = (workspace: AttributesOf<v2.Workspace>) => DisabledReason
const REQUIRES_WORKSPACE_ACCESS = 'requires access to the workspace or its project'
const REQUIRES_WORKSPACE_ADMIN = 'requires Admin access to the workspace'

/** Why an action on a workspace is disabled. */
export const workspaceDisabledReason = {
  update: (workspace) => requiresPermission(workspace, 'can-update', REQUIRES_WORKSPACE_ACCESS),
  destroy: (workspace) => requiresPermission(workspace, 'can-destroy', REQUIRES_WORKSPACE_ACCESS),
  lock: (workspace) =>
    firstDisabledReason(
      workspace.attributes.locked && 'The workspace is already locked.',
      requiresPermission(workspace, 'can-lock', REQUIRES_WORKSPACE_ACCESS),
    ),
  unlock: (workspace) =>
    firstDisabledReason(
      !workspace.attributes.locked && 'The workspace is not locked.',
      requiresPermission(workspace, 'can-unlock', REQUIRES_WORKSPACE_ACCESS),
    ),
  forceUnlock: (workspace) =>
    firstDisabledReason(
      !workspace.attributes.locked && 'The workspace is not locked.',
      requiresPermission(workspace, 'can-force-unlock', REQUIRES_WORKSPACE_ADMIN),
    ),
  /** A rollback holds the lock of the workspace. */
  rollBack: (workspace) =>
    firstDisabledReason(
      workspace.attributes.locked && 'The workspace is locked.',
      requiresPermission(workspace, 'can-lock', REQUIRES_WORKSPACE_ACCESS),
      requiresPermission(
        workspace,
        'can-create-state-versions',
        'requires a team that can write states',
      ),
    ),
  manageTags: (workspace) =>
    requiresPermission(workspace, 'can-manage-tags', REQUIRES_WORKSPACE_ACCESS),
  /** Removing a tag requires Admin access, which only `can-force-unlock` reports. */
  removeTags: (workspace) =>
    requiresPermission(
      workspace,
      'can-force-unlock',
      `to remove a tag, ${REQUIRES_WORKSPACE_ADMIN}`,
    ),
  /** Managing the access of teams requires Admin access too. */
  manageTeams: (workspace) =>
    requiresPermission(workspace, 'can-force-unlock', REQUIRES_WORKSPACE_ADMIN),
} as const satisfies Record<string, WorkspaceCheck>

type TeamCheck = (team: AttributesOf<v2.Team>) => DisabledReason

/** Why an action on a team is disabled. */
export const teamDisabledReason = {
  updateAccess: (team) =>
    firstDisabledReason(
      team.attributes.name === 'owners' && 'Owners have all permissions.',
      requiresPermission(team, 'can-update-organization-access', REQUIRES_OWNERS),
    ),
  updateMembers: (team) =>
    requiresPermission(team, 'can-update-membership', 'requires a team with Manage membership'),
  destroy: (team) =>
    firstDisabledReason(
      team.attributes.name === 'owners' && 'The owners team cannot be deleted.',
      requiresPermission(team, 'can-destroy', 'requires a team with Manage teams'),
    ),
  update: (team) =>
    firstDisabledReason(
      team.attributes.name === 'owners' && 'The owners team cannot be changed.',
      requiresPermission(team, 'can-update-visibility', 'requires a team with Manage teams'),
    ),
  manageTokens: (team) =>
    requiresPermission(
      team,
      'can-update-api-token',
      'requires Manage teams, or membership with token management',
    ),
} as const satisfies Record<string, TeamCheck>

type RunCheck = (run: AttributesOf<v2.Run>) => DisabledReason

/** Why an action on a run is disabled; `actions` reports what its state allows. */
export const runDisabledReason = {
  apply: (run) =>
    firstDisabledReason(
      !run.attributes.actions['is-confirmable'] && 'The run is not awaiting confirmation.',
      requiresPermission(run, 'can-apply', 'requires permission to apply runs'),
    ),
  discard: (run) =>
    firstDisabledReason(
      !run.attributes.actions['is-discardable'] && 'The run is not awaiting a decision.',
      requiresPermission(run, 'can-discard', 'requires permission to apply runs'),
    ),
  cancel: (run) =>
    firstDisabledReason(
      !run.attributes.actions['is-cancelable'] && 'The run is not in progress.',
      requiresPermission(run, 'can-cancel', 'requires permission to plan runs'),
    ),
} as const satisfies Record<string, RunCheck>

const REQUIRES_POLICY_OVERRIDE = 'requires Manage policy overrides'

/** Why an override of policies is disabled. */
export const overrideDisabledReason = {
  check: (check: AttributesOf<v2.PolicyCheck>): DisabledReason =>
    firstDisabledReason(
      !check.attributes.actions['is-overridable'] && 'There is nothing to override.',
      requiresPermission(check, 'can-override', REQUIRES_POLICY_OVERRIDE),
    ),
  stage: (stage: AttributesOf<v2.TaskStage>): DisabledReason =>
    firstDisabledReason(
      !stage.attributes.actions['is-overridable'] && 'There is nothing to override.',
      requiresPermission(stage, 'can-override-policy', REQUIRES_POLICY_OVERRIDE),
    ),
} as const
