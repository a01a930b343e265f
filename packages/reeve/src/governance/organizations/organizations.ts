import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  UNSEEN,
  type AttributeProblem,
  type GovernanceRefusal,
  type OrganizationRow,
  type ProjectRow,
  type TeamRow,
} from '../../model/index.ts'
import { foldName, put, type Change, type Tables } from '../../state/index.ts'
import { isSiteAdministrator, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import { SITE_SCOPE, type GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import type { ListPart } from '../list-index.ts'
import { organizationPermissions } from '../permissions.ts'
import { findSeat, standingIn, type Seat } from '../standing.ts'
import { organizationEnd } from './organization-end.ts'

type Attributes = NonNullable<v2.OrganizationUpdateRequest['data']['attributes']>
type Relationships = v2.OrganizationUpdateRequest['data']['relationships']

/**
 * Reports whether the caller may create organizations: any user may; team and organization tokens
 * may not.
 */
export function mayCreateOrganizations(caller: GovernanceCaller): boolean {
  return caller.kind === 'user' || isSiteAdministrator(caller)
}

/**
 * Creates an organization with its default project and its owners team, which includes the caller.
 */
export async function createOrganization(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { attributes, relationships }: v2.OrganizationCreateRequest['data'],
): Promise<Result<Seat, GovernanceRefusal>> {
  if (!mayCreateOrganizations(caller)) return err(UNSEEN)
  const problems = organizationProblems(context, { attributes, relationships, id: undefined })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const made = newOrganization(context, attributes)
  await commitWrite(context, {
    action: 'OrganizationCreated',
    caller,
    organizationId: made.organization.id,
    subjects: [made.organization.id],
    changes: [
      put('organizations', made.organization),
      put('teams', made.owners),
      put('projects', made.defaultProject),
      ...ownerChanges(context, caller, made.owners),
    ],
  })
  const { organization } = made
  return ok({ organization, standing: standingIn(context, caller, organization) })
}

interface NewOrganization {
  readonly organization: OrganizationRow
  readonly owners: TeamRow
  readonly defaultProject: ProjectRow
}

function newOrganization(
  { ids, clock }: GovernanceContext,
  attributes: v2.OrganizationCreateRequest['data']['attributes'],
): NewOrganization {
  const createdMs = clock.nowMs()
  const id = newId(ids, 'entitlement-sets')
  const owners: TeamRow = {
    id: newId(ids, 'teams'),
    organizationId: id,
    name: 'owners',
    isOwners: true,
    visibility: 'secret',
    allowMemberTokenManagement: true,
    organizationAccess: [],
    createdMs,
  }
  const defaultProject: ProjectRow = {
    id: newId(ids, 'projects'),
    organizationId: id,
    name: 'Default Project',
    description: null,
    autoDestroyActivityDuration: null,
    isDefault: true,
    createdMs,
  }
  const organization: OrganizationRow = {
    id,
    name: attributes.name,
    email: attributes.email,
    createdMs,
    defaultProjectId: defaultProject.id,
    ownersTeamId: owners.id,
    ...DEFAULT_SETTINGS,
    ...settingsOf(attributes),
  }
  return { organization, owners, defaultProject }
}

const DEFAULT_SETTINGS = {
  allowForceDeleteWorkspaces: false,
  defaultExecutionMode: 'remote',
  userTokensEnabled: true,
  requireOverrideComment: false,
  sessionTimeout: null,
  sessionRemember: null,
  collaboratorAuthPolicy: 'password',
} as const satisfies Partial<OrganizationRow>

/** Returns the settings in a request. */
function settingsOf(given: Attributes): Partial<OrganizationRow> {
  const pairs: readonly (readonly [keyof OrganizationRow, unknown])[] = [
    ['allowForceDeleteWorkspaces', given['allow-force-delete-workspaces']],
    ['defaultExecutionMode', given['default-execution-mode']],
    ['userTokensEnabled', given['user-tokens-enabled']],
    ['requireOverrideComment', given['require-override-comment']],
    ['sessionTimeout', given['session-timeout']],
    ['sessionRemember', given['session-remember']],
    ['collaboratorAuthPolicy', given['collaborator-auth-policy']],
  ]
  // The request schema guarantees the type of each value.
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined))
}

/**
 * A user who creates an organization becomes its owner; the site administrator needs no membership.
 */
function ownerChanges(
  { ids, store, clock }: GovernanceContext,
  caller: GovernanceCaller,
  { id: teamId, organizationId }: TeamRow,
): readonly Change[] {
  if (caller.kind !== 'user') return []
  const { userId } = caller
  const { email } = store.tables.users.get(userId)
  const membershipId = newId(ids, 'organization-memberships')
  return [
    put('organization_memberships', {
      id: membershipId,
      organizationId,
      userId,
      email,
      status: 'active',
      createdMs: clock.nowMs(),
    }),
    put('team_memberships', { teamId, membershipId, organizationId, userId }),
  ]
}

interface OrganizationWish {
  readonly id: string | undefined
  readonly attributes: Attributes
  readonly relationships: Relationships
}

function organizationProblems(
  { store }: GovernanceContext,
  { id, attributes, relationships }: OrganizationWish,
): readonly AttributeProblem[] {
  const problems: AttributeProblem[] = []
  const { name } = attributes
  const [taken] =
    name === undefined ? [] : store.tables.organizations.keysIn('name', foldName(name))
  if (taken !== undefined && taken !== id)
    problems.push({ pointer: '/data/attributes/name', detail: 'Name has already been taken' })
  // Agent pools are not supported; clients match on these two texts.
  const pointer = '/data/relationships/default-agent-pool'
  const pool = relationships?.['default-agent-pool']?.data ?? null
  if (attributes['default-execution-mode'] === 'agent')
    problems.push({
      pointer,
      detail: "Default agent pool must be specified when using 'agent' execution mode",
    })
  else if (pool !== null)
    problems.push({
      pointer,
      detail: "Default agent pool must not be specified unless using 'agent' execution mode",
    })
  return problems
}

/** Updates an organization. A rename changes all its paths and nothing else. */
export async function updateOrganization(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { name, data }: { readonly name: string; readonly data: v2.OrganizationUpdateRequest['data'] },
): Promise<Result<Seat, GovernanceRefusal>> {
  const seat = findOwnedOrganization(context, caller, name)
  if (!seat.ok) return seat
  const { organization: before } = seat.value
  const { attributes = {}, relationships } = data
  const problems = organizationProblems(context, { id: before.id, attributes, relationships })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const organization: OrganizationRow = {
    ...before,
    name: attributes.name ?? before.name,
    email: attributes.email ?? before.email,
    ...settingsOf(attributes),
  }
  await commitWrite(context, {
    action: 'OrganizationUpdated',
    caller,
    organizationId: before.id,
    subjects: [before.id],
    changes: isEqual(before, organization) ? [] : [put('organizations', organization)],
  })
  return ok({ ...seat.value, organization })
}

/** Returns the organization with this name if the caller may change it. */
export function findOwnedOrganization(
  context: GovernanceContext,
  caller: GovernanceCaller,
  name: string,
): Result<Seat, GovernanceRefusal> {
  const seat = findSeat(context, caller, name)
  if (!seat.ok) return seat
  return organizationPermissions(seat.value.standing)['can-update'] ? seat : err(UNSEEN)
}

/** Deletes an organization with all its contents. */
export async function deleteOrganization(
  context: GovernanceContext,
  caller: GovernanceCaller,
  name: string,
): Promise<Result<void, GovernanceRefusal>> {
  const seat = findSeat(context, caller, name)
  if (!seat.ok) return seat
  if (!organizationPermissions(seat.value.standing)['can-destroy']) return err(UNSEEN)
  const { id } = seat.value.organization
  await commitWrite(context, {
    action: 'OrganizationDeleted',
    caller,
    organizationId: id,
    subjects: [id],
    changes: organizationEnd(context.store.tables, id),
  })
  return ok(undefined)
}

export interface OrganizationSearch {
  readonly name?: string | undefined
  readonly email?: string | undefined
  /** Matches either attribute. */
  readonly any?: string | undefined
  readonly skip: number
  readonly take: number
}

/** Lists the organizations visible to the caller, by name. */
export function listOrganizations(
  context: GovernanceContext,
  caller: GovernanceCaller,
  wish: OrganizationSearch,
): ListPart {
  const visible = organizationsOf(context, caller)
  return context.lists.organizations.page({
    scope: SITE_SCOPE,
    order: 'name',
    search: wish.any,
    within: wish.any === undefined ? narrowed(context, visible, wish) : visible,
    skip: wish.skip,
    take: wish.take,
  })
}

/** Undefined means all organizations. */
function organizationsOf(
  { store }: GovernanceContext,
  caller: GovernanceCaller,
): ReadonlySet<string> | undefined {
  switch (caller.kind) {
    case 'site':
      return undefined
    case 'user':
      return organizationsOfUser(store.tables, caller)
    case 'audit-trails':
      // An audit trail token sees nothing else of the organization.
      return new Set()
    default:
      return new Set([caller.organizationId])
  }
}

/**
 * Returns the organizations that accept user tokens: those of the user, or all for an
 * administrator.
 */
function organizationsOfUser(
  { organizations, organization_memberships: memberships }: Tables,
  { userId, isAdmin }: Extract<GovernanceCaller, { kind: 'user' }>,
): ReadonlySet<string> | undefined {
  const seats = memberships.rowsIn('user', userId).filter(({ status }) => status === 'active')
  const ids = isAdmin ? organizations.keys() : seats.map(({ organizationId }) => organizationId)
  const open = [...ids].filter((id) => organizations.find(id)?.userTokensEnabled === true)
  return open.length === organizations.size ? undefined : new Set(open)
}

function narrowed(
  { store }: GovernanceContext,
  visible: ReadonlySet<string> | undefined,
  { name, email }: OrganizationSearch,
): ReadonlySet<string> | undefined {
  if (name === undefined && email === undefined) return visible
  const { organizations } = store.tables
  const left = new Set<string>()
  for (const id of visible ?? organizations.keys()) {
    const row = organizations.find(id)
    if (row === undefined) continue
    const hasName = foldName(row.name).includes(foldName(name ?? ''))
    if (hasName && foldName(row.email).includes(foldName(email ?? ''))) left.add(id)
  }
  return left
}
