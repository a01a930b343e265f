import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  UNSEEN,
  type GovernanceRefusal,
  type OrganizationAccess,
  type OrganizationRow,
  type ProjectRow,
} from '../model/index.ts'
import { foldName, scopedKey } from '../state/index.ts'
import { isSiteAdministrator, type CallerIdentity } from './caller.ts'
import type { GovernanceContext } from './context.ts'
import {
  projectRights,
  STRANGER,
  type ProjectFacts,
  type ProjectRight,
  type ProjectRights,
  type Standing,
} from './permissions.ts'

/** An organization visible to the caller, with the caller's role in it. */
export interface Seat {
  readonly organization: OrganizationRow
  readonly standing: Standing
}

/** Returns the organization with this name if it is visible to the caller. */
export function findSeat(
  context: GovernanceContext,
  caller: CallerIdentity,
  organizationName: string,
): Result<Seat, GovernanceRefusal> {
  const { organizations } = context.store.tables
  const [id] = organizations.keysIn('name', foldName(organizationName))
  return id === undefined ? err(UNSEEN) : seatIn(context, caller, id)
}

/** Like findSeat, for the ID of an organization. */
export function seatIn(
  context: GovernanceContext,
  caller: CallerIdentity,
  organizationId: string,
): Result<Seat, GovernanceRefusal> {
  const organization = context.store.tables.organizations.find(organizationId)
  if (organization === undefined) return err(UNSEEN)
  const standing = standingIn(context, caller, organization)
  if (!standing.isMember) return err(UNSEEN)
  // Only members get this error, so it reveals nothing about other organizations.
  if (caller.kind === 'user' && !organization.userTokensEnabled)
    return err({ code: 'token-refused' })
  return ok({ organization, standing })
}

export function standingIn(
  context: GovernanceContext,
  caller: CallerIdentity,
  organization: OrganizationRow,
): Standing {
  if (isSiteAdministrator(caller)) return { ...STRANGER, isMember: true, isOwner: true }
  switch (caller.kind) {
    case 'organization':
      if (caller.organizationId !== organization.id) return STRANGER
      return { ...STRANGER, isMember: true, isOwner: true, isOrganizationToken: true }
    case 'team':
      if (caller.organizationId !== organization.id) return STRANGER
      return ofTeams(context, organization, new Set([caller.teamId]))
    case 'user':
      return ofMember(context, caller.userId, organization)
    default:
      // An audit trail token sees nothing else.
      return STRANGER
  }
}

function ofMember(
  context: GovernanceContext,
  userId: string,
  organization: OrganizationRow,
): Standing {
  const { organization_memberships: memberships, team_memberships: inTeams } = context.store.tables
  const pair = scopedKey(organization.id, userId)
  const [id] = memberships.keysIn('pair', pair)
  // A pending invitation grants nothing.
  if (id === undefined || memberships.get(id).status !== 'active') return STRANGER
  const teamIds = new Set(inTeams.rowsIn('user', pair).map(({ teamId }) => teamId))
  return ofTeams(context, organization, teamIds)
}

function ofTeams(
  { store }: GovernanceContext,
  organization: OrganizationRow,
  teamIds: ReadonlySet<string>,
): Standing {
  const access = new Set<OrganizationAccess>()
  for (const id of teamIds)
    for (const name of store.tables.teams.find(id)?.organizationAccess ?? []) access.add(name)
  return {
    isMember: true,
    isOwner: teamIds.has(organization.ownersTeamId),
    isOrganizationToken: false,
    access,
    teamIds,
  }
}

/** Returns the permissions of the caller on a project. */
export function rightsOnProject(
  context: GovernanceContext,
  { organization, standing }: Seat,
  project: Pick<ProjectRow, 'id' | 'isDefault'>,
): ProjectRights {
  return projectRights(standing, {
    isDefault: project.isDefault,
    allowForceDelete: organization.allowForceDeleteWorkspaces,
    ...accessesTo(context, standing, project.id),
  })
}

function accessesTo(
  { store }: GovernanceContext,
  { teamIds, isOwner }: Standing,
  projectId: string,
): Pick<ProjectFacts, 'accesses' | 'hasWorkspaceAccess'> {
  // Owners need no access, and a site administrator is in no team.
  if (isOwner) return { accesses: [], hasWorkspaceAccess: false }
  const { team_projects: teamProjects, team_workspaces: teamWorkspaces } = store.tables
  const ids = [...teamIds]
  return {
    accesses: ids.flatMap((id) => teamProjects.rowsIn('pair', scopedKey(id, projectId))),
    hasWorkspaceAccess: ids.some(
      (id) => teamWorkspaces.countIn('teamProject', scopedKey(id, projectId)) > 0,
    ),
  }
}

/**
 * Returns the projects on which the caller has all these permissions; undefined if these are all
 * projects of the organization. `projectRights` alone decides, so that lists agree with their
 * items. The cost depends on the accesses of the caller's teams rather than the size of the
 * organization, and the result is cached until accesses change.
 */
export function projectsWith(
  context: GovernanceContext,
  seat: Seat,
  rights: readonly ProjectRight[],
): ReadonlySet<string> | undefined {
  const { organization, standing } = seat
  const nothingSpecial = projectRights(standing, {
    isDefault: false,
    accesses: [],
    hasWorkspaceAccess: false,
    allowForceDelete: organization.allowForceDeleteWorkspaces,
  })
  if (rights.every((right) => nothingSpecial[right])) return undefined
  return context.projectScopes.find(scopeKey(seat, rights), versionOf(context), () =>
    decideProjects(context, seat, rights),
  )
}

/** Cache key with all inputs of the decision, besides the rows that `versionOf` watches. */
function scopeKey({ organization, standing }: Seat, rights: readonly ProjectRight[]): string {
  return [organization.id, ...standing.teamIds, '!', ...standing.access, '!', ...rights].join(' ')
}

function versionOf({ store }: GovernanceContext): string {
  const { team_projects: projects, team_workspaces: workspaces, organizations } = store.tables
  return `${projects.lastIndex} ${workspaces.lastIndex} ${organizations.lastIndex}`
}

function decideProjects(
  context: GovernanceContext,
  seat: Seat,
  rights: readonly ProjectRight[],
): ReadonlySet<string> {
  const { organization, standing } = seat
  const { team_projects, team_workspaces, projects } = context.store.tables
  const found = new Set<string>()
  const candidates = new Set([organization.defaultProjectId])
  for (const id of standing.teamIds) {
    for (const row of team_projects.rowsIn('team', id)) candidates.add(row.projectId)
    for (const row of team_workspaces.rowsIn('team', id)) candidates.add(row.projectId)
  }
  for (const id of candidates) {
    const project = projects.find(id)
    if (project === undefined) continue
    const held = rightsOnProject(context, seat, project)
    if (rights.every((right) => held[right])) found.add(id)
  }
  return found
}

/** A project that the caller may read, with the caller's permissions on it. */
export interface SeenProject extends Seat {
  readonly project: ProjectRow
  readonly rights: ProjectRights
}

export function findProject(
  context: GovernanceContext,
  caller: CallerIdentity,
  projectId: string,
): Result<SeenProject, GovernanceRefusal> {
  const project = context.store.tables.projects.find(projectId)
  if (project === undefined) return err(UNSEEN)
  const seat = seatIn(context, caller, project.organizationId)
  if (!seat.ok) return seat
  const rights = rightsOnProject(context, seat.value, project)
  return rights.read ? ok({ ...seat.value, project, rights }) : err(UNSEEN)
}

/** Returns the project if the caller may change it. */
export function findChangeableProject(
  context: GovernanceContext,
  caller: CallerIdentity,
  projectId: string,
): Result<SeenProject, GovernanceRefusal> {
  const seen = findProject(context, caller, projectId)
  return seen.ok && !seen.value.rights.update ? err(UNSEEN) : seen
}
