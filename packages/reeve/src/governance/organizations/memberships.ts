import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type OrganizationMembershipRow,
  type UserRow,
} from '../../model/index.ts'
import { normalizeName, put, scopedKey } from '../../state/index.ts'
import { isReservedUsername, isSiteAdministrator, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import type { ListPage } from '../list-index.ts'
import { organizationPermissions, teamRights } from '../permissions.ts'
import {
  findOrganization,
  findOrganizationById,
  type VisibleOrganization,
} from '../authorization.ts'
import { isLastOwner, deleteMembershipChanges } from '../cascade.ts'

interface MembershipSearch {
  readonly organizationName: string
  readonly search?: string | undefined
  readonly status?: OrganizationMembershipRow['status'] | undefined
  readonly emails?: readonly string[] | undefined
  readonly offset: number
  readonly limit: number
}

/** Returns the members of an organization, by email address. */
export function listMemberships(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: MembershipSearch,
): Result<ListPage, GovernanceRefusal> {
  const found = findOrganization(context, caller, request.organizationName)
  if (!found.ok) return found
  const { id: scope } = found.value.organization
  const { search, offset, limit } = request
  const restrictTo = matchingIds(context, scope, request)
  return ok(
    context.lists.memberships.page({
      scope,
      order: 'name',
      search,
      restrictTo,
      skip: offset,
      take: limit,
    }),
  )
}

function matchingIds(
  { store }: GovernanceContext,
  organizationId: string,
  { status, emails }: MembershipSearch,
): ReadonlySet<string> | undefined {
  if (status === undefined && emails === undefined) return undefined
  const foldedEmails = emails === undefined ? undefined : new Set(emails.map(normalizeName))
  const rows = store.tables.organization_memberships.rowsByIndex('organization', organizationId)
  const matches = rows.filter(
    (row) =>
      (status === undefined || row.status === status) &&
      (foldedEmails === undefined || foldedEmails.has(normalizeName(row.email))),
  )
  return new Set(matches.map(({ id }) => id))
}

/** Returns the organization if the caller may manage its members. */
export function findOrganizationToManageMembers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<VisibleOrganization, GovernanceRefusal> {
  const found = findOrganization(context, caller, organizationName)
  if (!found.ok) return found
  return organizationPermissions(found.value.role)['can-manage-users'] ? found : err(NOT_FOUND)
}

/**
 * Invites a user by email address. An unknown address gets a user without tokens; the site
 * administrator hands out the first one.
 */
export async function inviteMember(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly organizationName: string
    readonly data: v2.OrganizationMembershipCreateRequest['data']
  },
): Promise<Result<OrganizationMembershipRow, GovernanceRefusal>> {
  const found = findOrganizationToManageMembers(context, caller, request.organizationName)
  if (!found.ok) return found
  const { organization } = found.value
  const { email } = request.data.attributes
  const teamIds = (request.data.relationships?.teams?.data ?? []).map(({ id }) => id)
  const { tables } = context.store
  const [existingUserId] = tables.users.keysByIndex('email', normalizeName(email))
  const problems = [
    ...(existingUserId !== undefined &&
    tables.organization_memberships.countByIndex(
      'pair',
      scopedKey(organization.id, existingUserId),
    ) > 0
      ? [{ pointer: '/data/attributes/email', detail: 'Email has already been taken' }]
      : []),
    ...teamProblems(context, found.value, teamIds),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const user =
    existingUserId === undefined ? newInvitedUser(context, email) : tables.users.get(existingUserId)
  const membership: OrganizationMembershipRow = {
    id: newId(context.ids, 'organization-memberships'),
    organizationId: organization.id,
    userId: user.id,
    email: user.email,
    status: 'invited',
    createdMs: context.clock.nowMs(),
  }
  const { id: membershipId, organizationId, userId } = membership
  await commitWrite(context, {
    caller,
    organizationId,
    affectedIds: [membershipId],
    changes: [
      ...(existingUserId === undefined ? [put('users', user)] : []),
      put('organization_memberships', membership),
      ...[...new Set(teamIds)].map((teamId) =>
        put('team_memberships', { teamId, membershipId, organizationId, userId }),
      ),
    ],
  })
  return ok(membership)
}

/** A team that the caller may not manage is reported like an unknown one. */
function teamProblems(
  { store }: GovernanceContext,
  { organization, role }: VisibleOrganization,
  teamIds: readonly string[],
): readonly AttributeProblem[] {
  return teamIds.flatMap((id, i) => {
    const team = store.tables.teams.find(id)
    if (team?.organizationId === organization.id) {
      const { read, updateMembers } = teamRights(role, team)
      if (read && updateMembers) return []
    }
    const pointer = `/data/relationships/teams/data/${i}`
    return [{ pointer, detail: `Team ${id} does not exist` }]
  })
}

/** Maximum length of a username before a unique suffix is added. */
const USERNAME_STEM_LENGTH_MAX = 60

function newInvitedUser({ ids, clock, store }: GovernanceContext, email: string): UserRow {
  const stem = email
    .slice(0, email.indexOf('@'))
    .replaceAll(/[^A-Za-z0-9_-]/g, '-')
    .slice(0, USERNAME_STEM_LENGTH_MAX)
  const id = newId(ids, 'users')
  const isFree =
    stem !== '' &&
    !isReservedUsername(stem) &&
    store.tables.users.countByIndex('username', normalizeName(stem)) === 0
  const username = isFree ? stem : `${stem}-${id.slice('user-'.length)}`
  return { id, username, email, isAdmin: false, createdMs: clock.nowMs() }
}

/** Returns a membership visible to the caller: its own, or one in an organization of the caller. */
export function findMembership(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Result<OrganizationMembershipRow, GovernanceRefusal> {
  const row = context.store.tables.organization_memberships.find(id)
  if (row === undefined) return err(NOT_FOUND)
  if (caller.kind === 'user' && caller.userId === row.userId) return ok(row)
  const found = findOrganizationById(context, caller, row.organizationId)
  return found.ok ? ok(row) : found
}

/** Returns the caller's own memberships in all organizations. */
export function listOwnMemberships(
  { store }: GovernanceContext,
  caller: GovernanceCaller,
): Result<readonly OrganizationMembershipRow[], GovernanceRefusal> {
  if (caller.kind !== 'user') return err(NOT_FOUND)
  return ok(store.tables.organization_memberships.rowsByIndex('user', caller.userId))
}

/** Accepts an invitation; only the invited user may do so. */
export async function acceptMembership(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Promise<Result<OrganizationMembershipRow, GovernanceRefusal>> {
  const found = findMembership(context, caller, id)
  if (!found.ok) return found
  const row = found.value
  if (caller.kind !== 'user' || caller.userId !== row.userId) return err(NOT_FOUND)
  if (row.status === 'active')
    return err({ code: 'conflict', detail: 'The membership is active already.' })
  const accepted = { ...row, status: 'active' } as const
  await commitWrite(context, {
    caller,
    organizationId: row.organizationId,
    affectedIds: [id],
    changes: [put('organization_memberships', accepted)],
  })
  return ok(accepted)
}

/**
 * Deletes a membership. Members may leave; removing others requires permission to manage members.
 */
export async function deleteMembership(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findMembership(context, caller, id)
  if (!found.ok) return found
  const row = found.value
  const { tables } = context.store
  if (!mayRemoveMember(context, caller, row)) return err(NOT_FOUND)
  if (isLastOwner(tables, row))
    return err({
      code: 'unprocessable',
      detail: 'The user is the last owner of the organization.',
    })
  await commitWrite(context, {
    caller,
    organizationId: row.organizationId,
    affectedIds: [id],
    changes: deleteMembershipChanges(tables, id),
  })
  return ok(undefined)
}

function mayRemoveMember(
  context: GovernanceContext,
  caller: GovernanceCaller,
  row: OrganizationMembershipRow,
): boolean {
  if (isSiteAdministrator(caller) || caller.userId === row.userId) return true
  const found = findOrganizationById(context, caller, row.organizationId)
  if (!found.ok) return false
  const { role, organization } = found.value
  if (!organizationPermissions(role)['can-manage-users']) return false
  // Only an owner may remove an owner.
  const isOwner = context.store.tables.team_memberships.has(
    scopedKey(organization.ownersTeamId, row.id),
  )
  return role.isOwner || !isOwner
}
