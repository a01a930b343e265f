export {
  findCaller,
  findShownUser,
  isSiteAdministrator,
  siteCaller,
  type GovernanceCaller,
  type ShownUser,
} from './caller.ts'
export { openGovernance, type GovernanceContext } from './context.ts'
export { suffixPart } from './ids.ts'
export {
  organizationPermissions,
  projectPermissions,
  teamPermissions,
  type ProjectRight,
} from './permissions.ts'
export { PROJECT_LEVELS, WORKSPACE_LEVELS } from './access/levels.ts'
export { findProject, findSeat, seatIn, type Seat, type SeenProject } from './standing.ts'
export {
  createOrganization,
  deleteOrganization,
  findOwnedOrganization,
  listOrganizations,
  mayCreateOrganizations,
  updateOrganization,
} from './organizations/organizations.ts'
export {
  acceptMembership,
  deleteMembership,
  findMembership,
  findMemberManager,
  inviteMember,
  listMemberships,
  ownMemberships,
} from './organizations/memberships.ts'
export type { TagFilter } from './projects/find-tagged.ts'
export { listProjects } from './projects/list-projects.ts'
export { findDestination, moveWorkspaces } from './projects/move-workspaces.ts'
export { addProjectNamespaces, removeProjectNamespaces } from './projects/project-namespaces.ts'
export { changeProjectTags, findTaggableProject } from './projects/project-tags.ts'
export {
  createProject,
  deleteProject,
  findChangeableProject,
  findProjectMaker,
  updateProject,
} from './projects/projects.ts'
export { projectEffectiveTags, tagsOf, type EffectiveTag } from './projects/tags.ts'
export { changeTeamMembers, type MemberChange } from './teams/team-members.ts'
export {
  createTeam,
  deleteTeam,
  findTeam,
  findTeamMaker,
  findTeamWith,
  listTeams,
  updateTeam,
  type SeenTeam,
} from './teams/teams.ts'
export {
  createToken,
  findSingleToken,
  findToken,
  listTeamTokens,
  organizationTokenOwner,
  revokeToken,
  teamTokenOwner,
  tokensOf,
  userTokenOwner,
  type MadeToken,
  type TokenOwner,
} from './tokens/tokens.ts'
export { createUser, deleteUser, findVisibleUser, listUsers, updateAccount } from './users/users.ts'
