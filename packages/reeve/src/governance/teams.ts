import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type OrganizationAccess,
  type TeamRow,
  type OrganizationMembershipRow,
} from '../model/index.ts'
import { normalizeName, put, remove, scopedKey } from '../state/index.ts'
import type { GovernanceCaller } from './caller.ts'
import { commitWrite } from './commit.ts'
import type { GovernanceContext } from './context.ts'
import { newId } from './ids.ts'
import {
  withImpliedAccess,
  IMPLIED_ACCESS,
  organizationPermissions,
  teamRights,
  type TeamRights,
} from './permissions.ts'
import {
  findOrganization,
  findOrganizationById,
  type VisibleOrganization,
} from './authorization.ts'
import { activeOwners, deleteRowsChanges } from './cascade.ts'

/** A team visible to the caller, with the caller's permissions on it. */
export interface VisibleTeam extends VisibleOrganization {
  readonly team: TeamRow
  readonly rights: TeamRights
}

export function findTeam(
  context: GovernanceContext,
  caller: GovernanceCaller,
  teamId: string,
): Result<VisibleTeam, GovernanceRefusal> {
  const team = context.store.tables.teams.find(teamId)
  if (team === undefined) return err(NOT_FOUND)
  const found = findOrganizationById(context, caller, team.organizationId)
  if (!found.ok) return found
  const rights = teamRights(found.value.role, team)
  return rights.read ? ok({ ...found.value, team, rights }) : err(NOT_FOUND)
}

/** Returns the team if the caller has the permission on it. */
export function findTeamWith(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { teamId, right }: { readonly teamId: string; readonly right: keyof TeamRights },
): Result<VisibleTeam, GovernanceRefusal> {
  const found = findTeam(context, caller, teamId)
  return found.ok && !found.value.rights[right] ? err(NOT_FOUND) : found
}

interface TeamSearch {
  readonly organizationName: string
  readonly nameContains?: string | undefined
  readonly names?: readonly string[] | undefined
  readonly offset: number
  readonly limit: number
}

/** Lists visible teams and the caller's own secret ones: owners first, then by name. */
export function listTeams(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: TeamSearch,
): Result<{ readonly teams: readonly VisibleTeam[]; readonly total: number }, GovernanceRefusal> {
  const found = findOrganization(context, caller, request.organizationName)
  if (!found.ok) return found
  const { tables } = context.store
  const { role, organization } = found.value
  const names = request.names === undefined ? undefined : new Set(request.names.map(normalizeName))
  const visible = tables.teams
    .rowsByIndex('organization', organization.id)
    .filter((team) => teamRights(role, team).read)
    .filter(({ name }) => names === undefined || names.has(normalizeName(name)))
  const page = context.lists.teams.page({
    scope: organization.id,
    order: 'name',
    search: request.nameContains,
    restrictTo: new Set(visible.map(({ id }) => id)),
    skip: request.offset,
    take: request.limit,
  })
  const teams = page.keys.map((id): VisibleTeam => {
    const team = tables.teams.get(id)
    return { ...found.value, team, rights: teamRights(role, team) }
  })
  return ok({ teams, total: page.total })
}

/** Returns the organization if the caller may create teams in it. */
export function findOrganizationForNewTeam(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<VisibleOrganization, GovernanceRefusal> {
  const found = findOrganization(context, caller, organizationName)
  if (!found.ok) return found
  return organizationPermissions(found.value.role)['can-create-team'] ? found : err(NOT_FOUND)
}

export async function createTeam(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly organizationName: string; readonly data: v2.TeamCreateRequest['data'] },
): Promise<Result<VisibleTeam, GovernanceRefusal>> {
  const found = findOrganizationForNewTeam(context, caller, request.organizationName)
  if (!found.ok) return found
  const { attributes } = request.data
  const { organization, role } = found.value
  const team: TeamRow = {
    id: newId(context.ids, 'teams'),
    organizationId: organization.id,
    name: attributes.name,
    isOwners: false,
    visibility: attributes.visibility ?? 'secret',
    allowMemberTokenManagement: attributes['allow-member-token-management'] ?? true,
    organizationAccess: mergeAccess([], attributes['organization-access']),
    createdMs: context.clock.nowMs(),
  }
  const problems = teamProblems(context, { ...found.value, team, attributes, before: undefined })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [team.id],
    changes: [put('teams', team)],
  })
  return ok({ ...found.value, team, rights: teamRights(role, team) })
}

/** Merges access by key, and adds implied access. */
function mergeAccess(
  before: readonly OrganizationAccess[],
  requested: Readonly<Partial<Record<OrganizationAccess, boolean>>> = {},
): readonly OrganizationAccess[] {
  const merged = new Set(before.filter((name) => requested[name] !== false))
  for (const name of v2.ORGANIZATION_ACCESS) if (requested[name] === true) merged.add(name)
  const withImplied = withImpliedAccess(merged)
  return v2.ORGANIZATION_ACCESS.filter((name) => withImplied.has(name))
}

interface TeamInput extends VisibleOrganization {
  readonly before: TeamRow | undefined
  readonly team: TeamRow
  readonly attributes: NonNullable<v2.TeamUpdateRequest['data']['attributes']>
}

function teamProblems(
  { store }: GovernanceContext,
  { before, team, attributes, role }: TeamInput,
): readonly AttributeProblem[] {
  const group = scopedKey(team.organizationId, normalizeName(team.name))
  const [existingId] = store.tables.teams.keysByIndex('name', group)
  const pointer = '/data/attributes'
  const problems: AttributeProblem[] = []
  if (existingId !== undefined && existingId !== before?.id)
    problems.push({ pointer: `${pointer}/name`, detail: 'Name has already been taken' })
  if (before?.isOwners === true && team.name !== before.name)
    problems.push({ pointer: `${pointer}/name`, detail: 'Name of the owners team is read-only' })
  const access = attributes['organization-access'] ?? {}
  for (const [name, ...implied] of IMPLIED_ACCESS)
    for (const one of implied)
      if (access[one] === false && team.organizationAccess.includes(name))
        problems.push({
          pointer: `${pointer}/organization-access/${one}`,
          detail: `Organization access ${one} is needed by ${name}`,
        })
  // Owners implicitly have all access, which can be neither granted nor revoked.
  const revokesOwnersAccess = team.isOwners && Object.values(access).includes(false)
  const isNewAccess =
    revokesOwnersAccess || !isEqual(before?.organizationAccess ?? [], team.organizationAccess)
  const rights = teamRights(role, team)
  if (isNewAccess && !rights.updateAccess)
    problems.push({
      pointer: `${pointer}/organization-access`,
      detail: team.isOwners
        ? 'Organization access of the owners team is read-only'
        : 'Organization access cannot be given by you',
    })
  return problems
}

export async function updateTeam(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly teamId: string; readonly data: v2.TeamUpdateRequest['data'] },
): Promise<Result<VisibleTeam, GovernanceRefusal>> {
  const found = findTeamWith(context, caller, { teamId: request.teamId, right: 'update' })
  if (!found.ok) return found
  const { attributes = {} } = request.data
  const { team: before, role, organization } = found.value
  const team: TeamRow = {
    ...before,
    name: attributes.name ?? before.name,
    visibility: attributes.visibility ?? before.visibility,
    allowMemberTokenManagement:
      attributes['allow-member-token-management'] ?? before.allowMemberTokenManagement,
    organizationAccess: before.isOwners
      ? before.organizationAccess
      : mergeAccess(before.organizationAccess, attributes['organization-access']),
  }
  const problems = teamProblems(context, { role, organization, before, team, attributes })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  await commitWrite(context, {
    caller,
    organizationId: team.organizationId,
    affectedIds: [team.id],
    changes: isEqual(before, team) ? [] : [put('teams', team)],
  })
  return ok({ ...found.value, team, rights: teamRights(role, team) })
}

/** Deletes a team with its tokens, members and accesses. */
export async function deleteTeam(
  context: GovernanceContext,
  caller: GovernanceCaller,
  teamId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findTeamWith(context, caller, { teamId, right: 'update' })
  if (!found.ok) return found
  if (found.value.team.isOwners)
    return err({ code: 'unprocessable', detail: 'The owners team cannot be deleted.' })
  const { tables } = context.store
  await commitWrite(context, {
    caller,
    organizationId: found.value.team.organizationId,
    affectedIds: [teamId],
    changes: [
      ...deleteRowsChanges(tables, ['api_tokens', 'owner', scopedKey('team', teamId)]),
      ...deleteRowsChanges(tables, ['team_memberships', 'team', teamId]),
      ...deleteRowsChanges(tables, ['team_projects', 'team', teamId]),
      ...deleteRowsChanges(tables, ['team_workspaces', 'team', teamId]),
      remove('teams', teamId),
    ],
  })
  return ok(undefined)
}

export interface TeamMemberChange {
  readonly teamId: string
  /** Usernames, user IDs, or membership IDs. */
  readonly ids: readonly string[]
  readonly idType: 'user' | 'membership'
  readonly isRemoval: boolean
}

/** Adds members of the organization to a team, or removes them, atomically. */
export async function changeTeamMembers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  change: TeamMemberChange,
): Promise<Result<void, GovernanceRefusal>> {
  const { teamId, isRemoval } = change
  const lookup = findTeamWith(context, caller, { teamId, right: 'updateMembers' })
  if (!lookup.ok) return lookup
  const { organizationId, isOwners } = lookup.value.team
  const found = resolveMembers(context, organizationId, change)
  if (!found.ok) return found
  const members = found.value
  const { tables } = context.store
  if (isRemoval && isOwners) {
    const removed = new Set(members.map(({ id }) => id))
    const owners = activeOwners(tables, teamId)
    if (owners.length > 0 && owners.every((id) => removed.has(id)))
      return err({ code: 'unprocessable', detail: 'The last owner cannot leave the owners team.' })
  }
  const isMember = ({ id }: OrganizationMembershipRow): boolean =>
    tables.team_memberships.has(scopedKey(teamId, id))
  await commitWrite(context, {
    caller,
    organizationId,
    affectedIds: [teamId],
    changes: isRemoval
      ? members.filter(isMember).map(({ id }) => remove('team_memberships', scopedKey(teamId, id)))
      : members
          .filter((row) => !isMember(row))
          .map(({ id: membershipId, userId }) =>
            put('team_memberships', { teamId, membershipId, organizationId, userId }),
          ),
  })
  return ok(undefined)
}

/** Looks up members. An unknown user gives status 400, an unknown membership 422. */
function resolveMembers(
  { store }: GovernanceContext,
  organizationId: string,
  { ids, idType }: TeamMemberChange,
): Result<readonly OrganizationMembershipRow[], GovernanceRefusal> {
  const { users, organization_memberships: memberships } = store.tables
  const found = new Map<string, OrganizationMembershipRow>()
  for (const [i, id] of ids.entries()) {
    const [userIdByName] = users.keysByIndex('username', normalizeName(id))
    const userId = users.has(id) ? id : userIdByName
    const pair = scopedKey(organizationId, userId ?? '')
    const [membershipId] = idType === 'user' ? memberships.keysByIndex('pair', pair) : [id]
    const membership = membershipId === undefined ? undefined : memberships.find(membershipId)
    if (membership !== undefined && membership.organizationId === organizationId)
      found.set(membership.id, membership)
    else if (idType === 'user')
      return err({ code: 'malformed', detail: `User ${id} does not exist` })
    else {
      const detail = `Organization membership ${id} does not exist`
      return err({ code: 'invalid', problems: [{ pointer: `/data/${i}/id`, detail }] })
    }
  }
  return ok([...found.values()])
}
