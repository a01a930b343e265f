import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type OrganizationRow,
  type ProjectRow,
  type TeamRow,
} from '../../model/index.ts'
import { normalizeName, put, type Change, type Tables } from '../../state/index.ts'
import { isSiteAdministrator, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import { SITE_SCOPE, type GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import type { ListPage } from '../list-index.ts'
import { organizationPermissions } from '../permissions.ts'
import { findOrganization, organizationRole, type VisibleOrganization } from '../authorization.ts'
import { deleteOrganizationChanges } from '../cascade.ts'

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
): Promise<Result<VisibleOrganization, GovernanceRefusal>> {
  if (!mayCreateOrganizations(caller)) return err(NOT_FOUND)
  const problems = organizationProblems(context, { attributes, relationships, id: undefined })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const created = newOrganization(context, attributes)
  await commitWrite(context, {
    caller,
    organizationId: created.organization.id,
    affectedIds: [created.organization.id],
    changes: [
      put('organizations', created.organization),
      put('teams', created.owners),
      put('projects', created.defaultProject),
      ...ownerChanges(context, caller, created.owners),
    ],
  })
  const { organization } = created
  return ok({ organization, role: organizationRole(context, caller, organization) })
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
    ...toSettings(attributes),
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
function toSettings(attributes: Attributes): Partial<OrganizationRow> {
  const pairs: readonly (readonly [keyof OrganizationRow, unknown])[] = [
    ['allowForceDeleteWorkspaces', attributes['allow-force-delete-workspaces']],
    ['defaultExecutionMode', attributes['default-execution-mode']],
    ['userTokensEnabled', attributes['user-tokens-enabled']],
    ['requireOverrideComment', attributes['require-override-comment']],
    ['sessionTimeout', attributes['session-timeout']],
    ['sessionRemember', attributes['session-remember']],
    ['collaboratorAuthPolicy', attributes['collaborator-auth-policy']],
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

interface OrganizationInput {
  readonly id: string | undefined
  readonly attributes: Attributes
  readonly relationships: Relationships
}

function organizationProblems(
  { store }: GovernanceContext,
  { id, attributes, relationships }: OrganizationInput,
): readonly AttributeProblem[] {
  const problems: AttributeProblem[] = []
  const { name } = attributes
  const [existingId] =
    name === undefined ? [] : store.tables.organizations.keysByIndex('name', normalizeName(name))
  if (existingId !== undefined && existingId !== id)
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
): Promise<Result<VisibleOrganization, GovernanceRefusal>> {
  const found = findUpdatableOrganization(context, caller, name)
  if (!found.ok) return found
  const { organization: before } = found.value
  const { attributes = {}, relationships } = data
  const problems = organizationProblems(context, { id: before.id, attributes, relationships })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const organization: OrganizationRow = {
    ...before,
    name: attributes.name ?? before.name,
    email: attributes.email ?? before.email,
    ...toSettings(attributes),
  }
  await commitWrite(context, {
    caller,
    organizationId: before.id,
    affectedIds: [before.id],
    changes: isEqual(before, organization) ? [] : [put('organizations', organization)],
  })
  return ok({ ...found.value, organization })
}

/** Returns the organization with this name if the caller may change it. */
export function findUpdatableOrganization(
  context: GovernanceContext,
  caller: GovernanceCaller,
  name: string,
): Result<VisibleOrganization, GovernanceRefusal> {
  const found = findOrganization(context, caller, name)
  if (!found.ok) return found
  return organizationPermissions(found.value.role)['can-update'] ? found : err(NOT_FOUND)
}

/** Deletes an organization with all its contents. */
export async function deleteOrganization(
  context: GovernanceContext,
  caller: GovernanceCaller,
  name: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findOrganization(context, caller, name)
  if (!found.ok) return found
  if (!organizationPermissions(found.value.role)['can-destroy']) return err(NOT_FOUND)
  const { id } = found.value.organization
  await commitWrite(context, {
    caller,
    organizationId: id,
    affectedIds: [id],
    changes: deleteOrganizationChanges(context.store.tables, id),
  })
  return ok(undefined)
}

interface OrganizationSearch {
  readonly name?: string | undefined
  readonly email?: string | undefined
  /** Matches either attribute. */
  readonly nameOrEmail?: string | undefined
  readonly offset: number
  readonly limit: number
}

/** Lists the organizations visible to the caller, by name. */
export function listOrganizations(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: OrganizationSearch,
): ListPage {
  const visible = visibleOrganizationIds(context, caller)
  return context.lists.organizations.page({
    scope: SITE_SCOPE,
    order: 'name',
    search: request.nameOrEmail,
    restrictTo:
      request.nameOrEmail === undefined ? filterByNameAndEmail(context, visible, request) : visible,
    skip: request.offset,
    take: request.limit,
  })
}

/** Undefined means all organizations. */
function visibleOrganizationIds(
  { store }: GovernanceContext,
  caller: GovernanceCaller,
): ReadonlySet<string> | undefined {
  switch (caller.kind) {
    case 'site':
      return undefined
    case 'user':
      return organizationIdsOfUser(store.tables, caller)
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
function organizationIdsOfUser(
  { organizations, organization_memberships: memberships }: Tables,
  { userId, isAdmin }: Extract<GovernanceCaller, { kind: 'user' }>,
): ReadonlySet<string> | undefined {
  const activeMemberships = memberships
    .rowsByIndex('user', userId)
    .filter(({ status }) => status === 'active')
  const ids = isAdmin
    ? organizations.keys()
    : activeMemberships.map(({ organizationId }) => organizationId)
  const accepting = [...ids].filter((id) => organizations.find(id)?.userTokensEnabled === true)
  return accepting.length === organizations.size ? undefined : new Set(accepting)
}

function filterByNameAndEmail(
  { store }: GovernanceContext,
  visible: ReadonlySet<string> | undefined,
  { name, email }: OrganizationSearch,
): ReadonlySet<string> | undefined {
  if (name === undefined && email === undefined) return visible
  const { organizations } = store.tables
  const matching = new Set<string>()
  for (const id of visible ?? organizations.keys()) {
    const row = organizations.find(id)
    if (row === undefined) continue
    const hasName = normalizeName(row.name).includes(normalizeName(name ?? ''))
    if (hasName && normalizeName(row.email).includes(normalizeName(email ?? ''))) matching.add(id)
  }
  return matching
}
