import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  UNSEEN,
  type AttributeProblem,
  type GovernanceRefusal,
  type OrganizationAccess,
  type TeamRow,
} from '../../model/index.ts'
import { foldName, put, remove, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import {
  closeAccess,
  IMPLIED_ACCESS,
  organizationPermissions,
  teamRights,
  type TeamRights,
} from '../permissions.ts'
import { findSeat, seatIn, type Seat } from '../standing.ts'

/** A team visible to the caller, with the caller's permissions on it. */
export interface SeenTeam extends Seat {
  readonly team: TeamRow
  readonly rights: TeamRights
}

export function findTeam(
  context: GovernanceContext,
  caller: GovernanceCaller,
  teamId: string,
): Result<SeenTeam, GovernanceRefusal> {
  const team = context.store.tables.teams.find(teamId)
  if (team === undefined) return err(UNSEEN)
  const seat = seatIn(context, caller, team.organizationId)
  if (!seat.ok) return seat
  const rights = teamRights(seat.value.standing, team)
  return rights.read ? ok({ ...seat.value, team, rights }) : err(UNSEEN)
}

/** Returns the team if the caller has the permission on it. */
export function findTeamWith(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { teamId, right }: { readonly teamId: string; readonly right: keyof TeamRights },
): Result<SeenTeam, GovernanceRefusal> {
  const seen = findTeam(context, caller, teamId)
  return seen.ok && !seen.value.rights[right] ? err(UNSEEN) : seen
}

export interface TeamSearch {
  readonly organizationName: string
  readonly part?: string | undefined
  readonly names?: readonly string[] | undefined
  readonly skip: number
  readonly take: number
}

/** Lists visible teams and the caller's own secret ones: owners first, then by name. */
export function listTeams(
  context: GovernanceContext,
  caller: GovernanceCaller,
  wish: TeamSearch,
): Result<{ readonly teams: readonly SeenTeam[]; readonly total: number }, GovernanceRefusal> {
  const seat = findSeat(context, caller, wish.organizationName)
  if (!seat.ok) return seat
  const { tables } = context.store
  const { standing, organization } = seat.value
  const names = wish.names === undefined ? undefined : new Set(wish.names.map(foldName))
  const visible = tables.teams
    .rowsIn('organization', organization.id)
    .filter((team) => teamRights(standing, team).read)
    .filter(({ name }) => names === undefined || names.has(foldName(name)))
  const part = context.lists.teams.page({
    scope: organization.id,
    order: 'name',
    search: wish.part,
    within: new Set(visible.map(({ id }) => id)),
    skip: wish.skip,
    take: wish.take,
  })
  const teams = part.keys.map((id): SeenTeam => {
    const team = tables.teams.get(id)
    return { ...seat.value, team, rights: teamRights(standing, team) }
  })
  return ok({ teams, total: part.total })
}

/** Returns the organization if the caller may create teams in it. */
export function findTeamMaker(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<Seat, GovernanceRefusal> {
  const seat = findSeat(context, caller, organizationName)
  if (!seat.ok) return seat
  return organizationPermissions(seat.value.standing)['can-create-team'] ? seat : err(UNSEEN)
}

export async function createTeam(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly organizationName: string; readonly data: v2.TeamCreateRequest['data'] },
): Promise<Result<SeenTeam, GovernanceRefusal>> {
  const seat = findTeamMaker(context, caller, request.organizationName)
  if (!seat.ok) return seat
  const { attributes } = request.data
  const { organization, standing } = seat.value
  const team: TeamRow = {
    id: newId(context.ids, 'teams'),
    organizationId: organization.id,
    name: attributes.name,
    isOwners: false,
    visibility: attributes.visibility ?? 'secret',
    allowMemberTokenManagement: attributes['allow-member-token-management'] ?? true,
    organizationAccess: mergedAccess([], attributes['organization-access']),
    createdMs: context.clock.nowMs(),
  }
  const problems = teamProblems(context, { ...seat.value, team, attributes, before: undefined })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  await commitWrite(context, {
    action: 'TeamCreated',
    caller,
    organizationId: organization.id,
    subjects: [team.id],
    changes: [put('teams', team)],
  })
  return ok({ ...seat.value, team, rights: teamRights(standing, team) })
}

/** Merges access by key, and adds implied access. */
function mergedAccess(
  before: readonly OrganizationAccess[],
  given: Readonly<Partial<Record<OrganizationAccess, boolean>>> = {},
): readonly OrganizationAccess[] {
  const kept = new Set(before.filter((name) => given[name] !== false))
  for (const name of v2.ORGANIZATION_ACCESS) if (given[name] === true) kept.add(name)
  const closed = closeAccess(kept)
  return v2.ORGANIZATION_ACCESS.filter((name) => closed.has(name))
}

interface TeamWish extends Seat {
  readonly before: TeamRow | undefined
  readonly team: TeamRow
  readonly attributes: NonNullable<v2.TeamUpdateRequest['data']['attributes']>
}

function teamProblems(
  { store }: GovernanceContext,
  { before, team, attributes, standing }: TeamWish,
): readonly AttributeProblem[] {
  const group = scopedKey(team.organizationId, foldName(team.name))
  const [taken] = store.tables.teams.keysIn('name', group)
  const pointer = '/data/attributes'
  const problems: AttributeProblem[] = []
  if (taken !== undefined && taken !== before?.id)
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
  const isTakenAway = team.isOwners && Object.values(access).includes(false)
  const isNewAccess =
    isTakenAway || !isEqual(before?.organizationAccess ?? [], team.organizationAccess)
  const rights = teamRights(standing, team)
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
): Promise<Result<SeenTeam, GovernanceRefusal>> {
  const seen = findTeamWith(context, caller, { teamId: request.teamId, right: 'update' })
  if (!seen.ok) return seen
  const { attributes = {} } = request.data
  const { team: before, standing, organization } = seen.value
  const team: TeamRow = {
    ...before,
    name: attributes.name ?? before.name,
    visibility: attributes.visibility ?? before.visibility,
    allowMemberTokenManagement:
      attributes['allow-member-token-management'] ?? before.allowMemberTokenManagement,
    organizationAccess: before.isOwners
      ? before.organizationAccess
      : mergedAccess(before.organizationAccess, attributes['organization-access']),
  }
  const problems = teamProblems(context, { standing, organization, before, team, attributes })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  await commitWrite(context, {
    action: 'TeamUpdated',
    caller,
    organizationId: team.organizationId,
    subjects: [team.id],
    changes: isEqual(before, team) ? [] : [put('teams', team)],
  })
  return ok({ ...seen.value, team, rights: teamRights(standing, team) })
}

/** Deletes a team with its tokens, members and accesses. */
export async function deleteTeam(
  context: GovernanceContext,
  caller: GovernanceCaller,
  teamId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findTeamWith(context, caller, { teamId, right: 'update' })
  if (!seen.ok) return seen
  if (seen.value.team.isOwners)
    return err({ code: 'unprocessable', detail: 'The owners team cannot be deleted.' })
  const { tables } = context.store
  const rows = [
    ['api_tokens', 'owner', scopedKey('team', teamId)],
    ['team_memberships', 'team', teamId],
    ['team_projects', 'team', teamId],
    ['team_workspaces', 'team', teamId],
  ] as const
  await commitWrite(context, {
    action: 'TeamDeleted',
    caller,
    organizationId: seen.value.team.organizationId,
    subjects: [teamId],
    changes: [
      ...rows.flatMap(([table, index, group]) =>
        [...tables[table].keysIn(index, group)].map((key) => remove(table, key)),
      ),
      remove('teams', teamId),
    ],
  })
  return ok(undefined)
}
