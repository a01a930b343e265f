import type { v2 } from '@reeve/contract'
import { firstReason, type Verdict } from './verdict.ts'

/** Of a resource, what its `permissions` say of the caller. The server computed them. */
interface Judged<Name extends string> {
  readonly attributes: { readonly permissions: Readonly<Record<Name, boolean>> }
}

/** Nothing else of a resource says what is allowed. */
type Attributes<Resource extends { readonly attributes: object }> = Pick<Resource, 'attributes'>

function may<Name extends string>(thing: Judged<Name>, permission: Name, who: string): Verdict {
  return thing.attributes.permissions[permission] ? undefined : `Your token may not: ${who}.`
}

const OWNERS = 'it takes the owners team or the organization token'
const POLICY_MANAGERS = 'it takes the owners team or a team with Manage policies'

const POLICY_READERS = 'it takes the owners team, or a team with Manage policies or Read policies'

type OrganizationCan = (organization: Attributes<v2.Organization>) => Verdict

/** What may be done in an organization. */
export const organizationCan = {
  update: (organization) => may(organization, 'can-update', OWNERS),
  destroy: (organization) => may(organization, 'can-destroy', 'it takes the owners team'),
  createProject: (organization) =>
    may(organization, 'can-create-project', 'it takes a team with Manage projects'),
  createWorkspace: (organization) =>
    may(organization, 'can-create-workspace', 'it takes a team with Manage workspaces'),
  createTeam: (organization) =>
    may(organization, 'can-create-team', 'it takes a team with Manage teams'),
  manageUsers: (organization) =>
    may(organization, 'can-manage-users', 'it takes a team with Manage membership'),
  updatePolicies: (organization) => may(organization, 'can-update-policies', POLICY_MANAGERS),
  readPolicies: (organization) => may(organization, 'can-read-policies', POLICY_READERS),
  /** Who may change the organization reads who wrote what. */
  readAudit: (organization) => may(organization, 'can-update', OWNERS),
  manageTokens: (organization) => may(organization, 'can-update-api-token', OWNERS),
  /** Reserved tag keys. */
  manageTagKeys: (organization) =>
    may(organization, 'can-manage-tags', 'it takes the owners team or a team with Manage projects'),
} as const satisfies Record<string, OrganizationCan>

type ProjectCan = (project: Attributes<v2.Project>) => Verdict
const PROJECT_MANAGERS = 'it takes a team with Manage projects, or access to the project'

/** What may be done with a project. */
export const projectCan = {
  update: (project) => may(project, 'can-update', PROJECT_MANAGERS),
  destroy: (project) =>
    firstReason(
      project.attributes['is-default'] && 'The default project stays.',
      project.attributes['workspace-count'] > 0 && 'Move its workspaces to another project first.',
      may(project, 'can-destroy', PROJECT_MANAGERS),
    ),
  manageTags: (project) => may(project, 'can-manage-tags', PROJECT_MANAGERS),
  moveWorkspaces: (project) => may(project, 'can-move-workspace', PROJECT_MANAGERS),
  createWorkspace: (project) => may(project, 'can-create-workspace', PROJECT_MANAGERS),
  /** To take a tag away is to change the project. */
  removeTags: (project) => may(project, 'can-update', `to remove a tag, ${PROJECT_MANAGERS}`),
  readTeams: (project) => may(project, 'can-read-teams', PROJECT_MANAGERS),
  manageTeams: (project) => may(project, 'can-manage-teams', PROJECT_MANAGERS),
} as const satisfies Record<string, ProjectCan>

/** Of whom the server is to give a namespace to; undefined of what is not known yet. */
interface NamespaceGiver {
  readonly isAclEnabled: boolean | undefined
  readonly isSiteAdministrator: boolean | undefined
}

/** Where there is access control, policies see jobs only where the administrator lets them. */
export function mayGiveNamespaces(giver: NamespaceGiver): Verdict {
  return giver.isAclEnabled === true && giver.isSiteAdministrator === false
    ? 'Your token may not: it takes the site administrator.'
    : undefined
}

type WorkspaceCan = (workspace: Attributes<v2.Workspace>) => Verdict
const WORKSPACE_MANAGERS = 'it takes access to the workspace or its project'
const WORKSPACE_ADMINS = 'it takes Admin access to the workspace'

/** What may be done with a workspace. */
export const workspaceCan = {
  update: (workspace) => may(workspace, 'can-update', WORKSPACE_MANAGERS),
  destroy: (workspace) => may(workspace, 'can-destroy', WORKSPACE_MANAGERS),
  lock: (workspace) =>
    firstReason(
      workspace.attributes.locked && 'The workspace is locked already.',
      may(workspace, 'can-lock', WORKSPACE_MANAGERS),
    ),
  unlock: (workspace) =>
    firstReason(
      !workspace.attributes.locked && 'The workspace is not locked.',
      may(workspace, 'can-unlock', WORKSPACE_MANAGERS),
    ),
  forceUnlock: (workspace) =>
    firstReason(
      !workspace.attributes.locked && 'The workspace is not locked.',
      may(workspace, 'can-force-unlock', WORKSPACE_ADMINS),
    ),
  /** It takes the lock meanwhile. */
  rollBack: (workspace) =>
    firstReason(
      workspace.attributes.locked && 'The workspace is locked.',
      may(workspace, 'can-lock', WORKSPACE_MANAGERS),
      may(workspace, 'can-create-state-versions', 'it takes a team that may write states'),
    ),
  manageTags: (workspace) => may(workspace, 'can-manage-tags', WORKSPACE_MANAGERS),
  /** Taking a tag away takes Admin access, which `can-force-unlock` alone tells. */
  removeTags: (workspace) =>
    may(workspace, 'can-force-unlock', `to remove a tag, ${WORKSPACE_ADMINS}`),
  /** The same holds for the access of teams. */
  manageTeams: (workspace) => may(workspace, 'can-force-unlock', WORKSPACE_ADMINS),
} as const satisfies Record<string, WorkspaceCan>

type TeamCan = (team: Attributes<v2.Team>) => Verdict

/** What may be done with a team. */
export const teamCan = {
  updateAccess: (team) =>
    firstReason(
      team.attributes.name === 'owners' && 'Owners have all permissions.',
      may(team, 'can-update-organization-access', OWNERS),
    ),
  updateMembers: (team) =>
    may(team, 'can-update-membership', 'it takes a team with Manage membership'),
  destroy: (team) =>
    firstReason(
      team.attributes.name === 'owners' && 'An organization always has owners.',
      may(team, 'can-destroy', 'it takes a team with Manage teams'),
    ),
  update: (team) =>
    firstReason(
      team.attributes.name === 'owners' && 'The owners stay as they are.',
      may(team, 'can-update-visibility', 'it takes a team with Manage teams'),
    ),
  manageTokens: (team) =>
    may(team, 'can-update-api-token', 'it takes a team with Manage teams, or a member’s right'),
} as const satisfies Record<string, TeamCan>

type RunCan = (run: Attributes<v2.Run>) => Verdict

/** What may be done with a run. `actions` tell what its state allows. */
export const runCan = {
  apply: (run) =>
    firstReason(
      !run.attributes.actions['is-confirmable'] && 'The run does not wait to be confirmed.',
      may(run, 'can-apply', 'it takes permission to apply runs'),
    ),
  discard: (run) =>
    firstReason(
      !run.attributes.actions['is-discardable'] && 'The run does not wait for a decision.',
      may(run, 'can-discard', 'it takes permission to apply runs'),
    ),
  cancel: (run) =>
    firstReason(
      !run.attributes.actions['is-cancelable'] && 'The run is not under way.',
      may(run, 'can-cancel', 'it takes permission to plan runs'),
    ),
} as const satisfies Record<string, RunCan>

const OVERRIDERS = 'it takes Manage policy overrides'

/** Who may pass over policies. */
export const overrideCan = {
  check: (check: Attributes<v2.PolicyCheck>): Verdict =>
    firstReason(
      !check.attributes.actions['is-overridable'] && 'There is nothing to override.',
      may(check, 'can-override', OVERRIDERS),
    ),
  stage: (stage: Attributes<v2.TaskStage>): Verdict =>
    firstReason(
      !stage.attributes.actions['is-overridable'] && 'There is nothing to override.',
      may(stage, 'can-override-policy', OVERRIDERS),
    ),
} as const
