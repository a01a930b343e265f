import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  UNSEEN,
  type AttributeProblem,
  type GovernanceRefusal,
  type OrganizationMembershipRow,
  type UserRow,
} from '../../model/index.ts'
import { foldName, put, scopedKey } from '../../state/index.ts'
import { isReservedUsername, isSiteAdministrator, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import type { ListPart } from '../list-index.ts'
import { organizationPermissions, teamRights } from '../permissions.ts'
import { findSeat, seatIn, type Seat } from '../standing.ts'
import { isLastOwner, membershipEnd } from './membership-end.ts'

export interface MembershipSearch {
  readonly organizationName: string
  readonly part?: string | undefined
  readonly status?: OrganizationMembershipRow['status'] | undefined
  readonly emails?: readonly string[] | undefined
  readonly skip: number
  readonly take: number
}

/** Returns the members of an organization, by email address. */
export function listMemberships(
  context: GovernanceContext,
  caller: GovernanceCaller,
  wish: MembershipSearch,
): Result<ListPart, GovernanceRefusal> {
  const seat = findSeat(context, caller, wish.organizationName)
  if (!seat.ok) return seat
  const { id: scope } = seat.value.organization
  const { part: search, skip, take } = wish
  const within = matching(context, scope, wish)
  return ok(context.lists.memberships.page({ scope, order: 'name', search, within, skip, take }))
}

function matching(
  { store }: GovernanceContext,
  organizationId: string,
  { status, emails }: MembershipSearch,
): ReadonlySet<string> | undefined {
  if (status === undefined && emails === undefined) return undefined
  const wanted = emails === undefined ? undefined : new Set(emails.map(foldName))
  const rows = store.tables.organization_memberships.rowsIn('organization', organizationId)
  const left = rows.filter(
    (row) =>
      (status === undefined || row.status === status) &&
      (wanted === undefined || wanted.has(foldName(row.email))),
  )
  return new Set(left.map(({ id }) => id))
}

/** Returns the organization if the caller may manage its members. */
export function findMemberManager(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<Seat, GovernanceRefusal> {
  const seat = findSeat(context, caller, organizationName)
  if (!seat.ok) return seat
  return organizationPermissions(seat.value.standing)['can-manage-users'] ? seat : err(UNSEEN)
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
  const seat = findMemberManager(context, caller, request.organizationName)
  if (!seat.ok) return seat
  const { organization } = seat.value
  const { email } = request.data.attributes
  const teamIds = (request.data.relationships?.teams?.data ?? []).map(({ id }) => id)
  const { tables } = context.store
  const [known] = tables.users.keysIn('email', foldName(email))
  const problems = [
    ...(known !== undefined &&
    tables.organization_memberships.countIn('pair', scopedKey(organization.id, known)) > 0
      ? [{ pointer: '/data/attributes/email', detail: 'Email has already been taken' }]
      : []),
    ...teamProblems(context, seat.value, teamIds),
  ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const user = known === undefined ? invitedUser(context, email) : tables.users.get(known)
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
    action: 'MembershipCreated',
    caller,
    organizationId,
    subjects: [membershipId],
    changes: [
      ...(known === undefined ? [put('users', user)] : []),
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
  { organization, standing }: Seat,
  teamIds: readonly string[],
): readonly AttributeProblem[] {
  return teamIds.flatMap((id, i) => {
    const team = store.tables.teams.find(id)
    if (team?.organizationId === organization.id) {
      const { read, updateMembers } = teamRights(standing, team)
      if (read && updateMembers) return []
    }
    const pointer = `/data/relationships/teams/data/${i}`
    return [{ pointer, detail: `Team ${id} does not exist` }]
  })
}

/** Maximum length of a username before a unique suffix is added. */
const USERNAME_STEM_CHARS = 60

function invitedUser({ ids, clock, store }: GovernanceContext, email: string): UserRow {
  const stem = email
    .slice(0, email.indexOf('@'))
    .replaceAll(/[^A-Za-z0-9_-]/g, '-')
    .slice(0, USERNAME_STEM_CHARS)
  const id = newId(ids, 'users')
  const isFree =
    stem !== '' &&
    !isReservedUsername(stem) &&
    store.tables.users.countIn('username', foldName(stem)) === 0
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
  if (row === undefined) return err(UNSEEN)
  if (caller.kind === 'user' && caller.userId === row.userId) return ok(row)
  const seat = seatIn(context, caller, row.organizationId)
  return seat.ok ? ok(row) : seat
}

/** Returns the caller's own memberships in all organizations. */
export function ownMemberships(
  { store }: GovernanceContext,
  caller: GovernanceCaller,
): Result<readonly OrganizationMembershipRow[], GovernanceRefusal> {
  if (caller.kind !== 'user') return err(UNSEEN)
  return ok(store.tables.organization_memberships.rowsIn('user', caller.userId))
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
  if (caller.kind !== 'user' || caller.userId !== row.userId) return err(UNSEEN)
  if (row.status === 'active')
    return err({ code: 'conflict', detail: 'The membership is active already.' })
  const accepted = { ...row, status: 'active' } as const
  await commitWrite(context, {
    action: 'MembershipAccepted',
    caller,
    organizationId: row.organizationId,
    subjects: [id],
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
  if (!mayRemove(context, caller, row)) return err(UNSEEN)
  if (isLastOwner(tables, row))
    return err({
      code: 'unprocessable',
      detail: 'The user is the last owner of the organization.',
    })
  await commitWrite(context, {
    action: 'MembershipDeleted',
    caller,
    organizationId: row.organizationId,
    subjects: [id],
    changes: membershipEnd(tables, id),
  })
  return ok(undefined)
}

function mayRemove(
  context: GovernanceContext,
  caller: GovernanceCaller,
  row: OrganizationMembershipRow,
): boolean {
  if (isSiteAdministrator(caller) || caller.userId === row.userId) return true
  const seat = seatIn(context, caller, row.organizationId)
  if (!seat.ok) return false
  const { standing, organization } = seat.value
  if (!organizationPermissions(standing)['can-manage-users']) return false
  // Only an owner may remove an owner.
  const isOwner = context.store.tables.team_memberships.has(
    scopedKey(organization.ownersTeamId, row.id),
  )
  return standing.isOwner || !isOwner
}
