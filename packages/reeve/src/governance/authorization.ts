import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type OrganizationAccess,
  type OrganizationRow,
  type ProjectRow,
} from '../model/index.ts'
import { normalizeName, scopedKey } from '../state/index.ts'
import {
  isSiteAdministrator,
  type CallerIdentity,
  findCaller,
  type GovernanceCaller,
} from './caller.ts'
import type { GovernanceContext } from './context.ts'
import {
  projectRights,
  NO_ROLE,
  type ProjectAccessInput,
  type ProjectRight,
  type ProjectRights,
  type OrganizationRole,
} from './permissions.ts'

/** An organization visible to the caller, with the caller's role in it. */
export interface VisibleOrganization {
  readonly organization: OrganizationRow
  readonly role: OrganizationRole
}

/** Returns the organization with this name if it is visible to the caller. */
export function findOrganization(
  context: GovernanceContext,
  caller: CallerIdentity,
  organizationName: string,
): Result<VisibleOrganization, GovernanceRefusal> {
  const { organizations } = context.store.tables
  const [id] = organizations.keysByIndex('name', normalizeName(organizationName))
  return id === undefined ? err(NOT_FOUND) : findOrganizationById(context, caller, id)
}

/** Like findOrganization, for the ID of an organization. */
export function findOrganizationById(
  context: GovernanceContext,
  caller: CallerIdentity,
  organizationId: string,
): Result<VisibleOrganization, GovernanceRefusal> {
  const organization = context.store.tables.organizations.find(organizationId)
  if (organization === undefined) return err(NOT_FOUND)
  const role = organizationRole(context, caller, organization)
  if (!role.isMember) return err(NOT_FOUND)
  // Only members get this error, so it reveals nothing about other organizations.
  if (caller.kind === 'user' && !organization.userTokensEnabled)
    return err({ code: 'token-refused' })
  return ok({ organization, role })
}

export function organizationRole(
  context: GovernanceContext,
  caller: CallerIdentity,
  organization: OrganizationRow,
): OrganizationRole {
  if (isSiteAdministrator(caller)) return { ...NO_ROLE, isMember: true, isOwner: true }
  switch (caller.kind) {
    case 'organization':
      if (caller.organizationId !== organization.id) return NO_ROLE
      return { ...NO_ROLE, isMember: true, isOwner: true, isOrganizationToken: true }
    case 'team':
      if (caller.organizationId !== organization.id) return NO_ROLE
      return teamRole(context, organization, new Set([caller.teamId]))
    case 'user':
      return memberRole(context, caller.userId, organization)
    default:
      // An audit trail token sees nothing else.
      return NO_ROLE
  }
}

function memberRole(
  context: GovernanceContext,
  userId: string,
  organization: OrganizationRow,
): OrganizationRole {
  const { organization_memberships: memberships, team_memberships: inTeams } = context.store.tables
  const pair = scopedKey(organization.id, userId)
  const [id] = memberships.keysByIndex('pair', pair)
  // A pending invitation grants nothing.
  if (id === undefined || memberships.get(id).status !== 'active') return NO_ROLE
  const teamIds = new Set(inTeams.rowsByIndex('user', pair).map(({ teamId }) => teamId))
  return teamRole(context, organization, teamIds)
}

function teamRole(
  { store }: GovernanceContext,
  organization: OrganizationRow,
  teamIds: ReadonlySet<string>,
): OrganizationRole {
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
export function projectRightsOf(
  context: GovernanceContext,
  { organization, role }: VisibleOrganization,
  project: Pick<ProjectRow, 'id' | 'isDefault'>,
): ProjectRights {
  return projectRights(role, {
    isDefault: project.isDefault,
    allowForceDelete: organization.allowForceDeleteWorkspaces,
    ...projectAccessInput(context, role, project.id),
  })
}

function projectAccessInput(
  { store }: GovernanceContext,
  { teamIds, isOwner }: OrganizationRole,
  projectId: string,
): Pick<ProjectAccessInput, 'accesses' | 'hasWorkspaceAccess'> {
  // Owners need no access, and a site administrator is in no team.
  if (isOwner) return { accesses: [], hasWorkspaceAccess: false }
  const { team_projects: teamProjects, team_workspaces: teamWorkspaces } = store.tables
  const ids = [...teamIds]
  return {
    accesses: ids.flatMap((id) => teamProjects.rowsByIndex('pair', scopedKey(id, projectId))),
    hasWorkspaceAccess: ids.some(
      (id) => teamWorkspaces.countByIndex('teamProject', scopedKey(id, projectId)) > 0,
    ),
  }
}

/**
 * Returns the projects on which the caller has all these permissions; undefined if these are all
 * projects of the organization. `projectRights` alone decides, so that lists agree with their
 * items. The cost depends on the accesses of the caller's teams rather than the size of the
 * organization, and the result is cached until accesses change.
 */
export function projectIdsWithRights(
  context: GovernanceContext,
  visible: VisibleOrganization,
  rights: readonly ProjectRight[],
): ReadonlySet<string> | undefined {
  const { organization, role } = visible
  const baseline = projectRights(role, {
    isDefault: false,
    accesses: [],
    hasWorkspaceAccess: false,
    allowForceDelete: organization.allowForceDeleteWorkspaces,
  })
  if (rights.every((right) => baseline[right])) return undefined
  return context.visibleProjectsCache.getOrCompute(
    accessCacheKey(visible, rights),
    accessVersion(context),
    () => computeProjectIds(context, visible, rights),
  )
}

/** Cache key with all inputs of the decision, besides the rows that `versionOf` watches. */
function accessCacheKey(
  { organization, role }: VisibleOrganization,
  rights: readonly ProjectRight[],
): string {
  return [organization.id, ...role.teamIds, '!', ...role.access, '!', ...rights].join(' ')
}

function accessVersion({ store }: GovernanceContext): string {
  const { team_projects: projects, team_workspaces: workspaces, organizations } = store.tables
  return `${projects.lastIndex} ${workspaces.lastIndex} ${organizations.lastIndex}`
}

function computeProjectIds(
  context: GovernanceContext,
  visible: VisibleOrganization,
  rights: readonly ProjectRight[],
): ReadonlySet<string> {
  const { organization, role } = visible
  const { team_projects, team_workspaces, projects } = context.store.tables
  const found = new Set<string>()
  const candidates = new Set([organization.defaultProjectId])
  for (const id of role.teamIds) {
    for (const row of team_projects.rowsByIndex('team', id)) candidates.add(row.projectId)
    for (const row of team_workspaces.rowsByIndex('team', id)) candidates.add(row.projectId)
  }
  for (const id of candidates) {
    const project = projects.find(id)
    if (project === undefined) continue
    const granted = projectRightsOf(context, visible, project)
    if (rights.every((right) => granted[right])) found.add(id)
  }
  return found
}

/** A project that the caller may read, with the caller's permissions on it. */
export interface VisibleProject extends VisibleOrganization {
  readonly project: ProjectRow
  readonly rights: ProjectRights
}

export function findProject(
  context: GovernanceContext,
  caller: CallerIdentity,
  projectId: string,
): Result<VisibleProject, GovernanceRefusal> {
  const project = context.store.tables.projects.find(projectId)
  if (project === undefined) return err(NOT_FOUND)
  const found = findOrganizationById(context, caller, project.organizationId)
  if (!found.ok) return found
  const rights = projectRightsOf(context, found.value, project)
  return rights.read ? ok({ ...found.value, project, rights }) : err(NOT_FOUND)
}

/** Returns the project if the caller may change it. */
export function findUpdatableProject(
  context: GovernanceContext,
  caller: CallerIdentity,
  projectId: string,
): Result<VisibleProject, GovernanceRefusal> {
  const found = findProject(context, caller, projectId)
  return found.ok && !found.value.rights.update ? err(NOT_FOUND) : found
}

/**
 * Returns the organization if the caller may read its audit trail: its owners, its organization
 * token, and audit trail tokens.
 */
export function findAuditableOrganization(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<OrganizationRow, GovernanceRefusal> {
  if (caller.kind === 'audit-trails') {
    const tokenOrganization = context.store.tables.organizations.find(caller.organizationId)
    const isNamed =
      tokenOrganization !== undefined &&
      normalizeName(tokenOrganization.name) === normalizeName(organizationName)
    return isNamed ? ok(tokenOrganization) : err(NOT_FOUND)
  }
  const found = findOrganization(context, caller, organizationName)
  if (!found.ok) return found
  return found.value.role.isOwner ? ok(found.value.organization) : err(NOT_FOUND)
}

/** Reader of an organization's events with the organization token. */
interface EventStreamClient {
  readonly organizationId: string
  readonly tokenId: string
  /** Expiry of the token; undefined if it does not expire. */
  readonly expiresMs: number | undefined
}

/** Returns the reader for the secret of an organization token; undefined for any other secret. */
export function findEventStreamClient(
  context: GovernanceContext,
  secret: string,
): EventStreamClient | undefined {
  const caller = findCaller(context, secret)
  if (caller?.kind !== 'organization') return undefined
  const { organizationId, tokenId } = caller
  const expiresMs = context.store.tables.api_tokens.find(tokenId)?.expiresMs ?? undefined
  return { organizationId, tokenId, expiresMs }
}
