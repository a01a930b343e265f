import { v2 } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  NOT_FOUND,
  type ApiTokenKind,
  type ApiTokenRow,
  type GovernanceRefusal,
} from '../model/index.ts'
import { normalizeName, put, remove, scopedKey } from '../state/index.ts'
import { findPublicUser, isSiteAdministrator, type GovernanceCaller } from './caller.ts'
import { commitWrite } from './commit.ts'
import type { GovernanceContext } from './context.ts'
import { newId, newSecret } from './ids.ts'
import { organizationPermissions, teamRights } from './permissions.ts'
import { findOrganization } from './authorization.ts'
import { findTeamWith } from './teams.ts'

/** Owner of tokens. */
export interface TokenOwner {
  readonly kind: ApiTokenKind
  readonly ownerId: string
  /** Null for a user. */
  readonly organizationId: string | null
}

/** Returns the owner of organization tokens if the caller may manage them. */
export function organizationTokenOwner(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { name, kind }: { readonly name: string; readonly kind: 'organization' | 'audit-trails' },
): Result<TokenOwner, GovernanceRefusal> {
  const found = findOrganization(context, caller, name)
  if (!found.ok) return found
  if (!organizationPermissions(found.value.role)['can-update-api-token']) return err(NOT_FOUND)
  const { id } = found.value.organization
  return ok({ kind, ownerId: id, organizationId: id })
}

export function teamTokenOwner(
  context: GovernanceContext,
  caller: GovernanceCaller,
  teamId: string,
): Result<TokenOwner, GovernanceRefusal> {
  const found = findTeamWith(context, caller, { teamId, right: 'manageTokens' })
  if (!found.ok) return found
  const { organizationId } = found.value.team
  return ok({ kind: 'team', ownerId: teamId, organizationId })
}

/** Returns the owner of user tokens: the user itself, or any user for the site administrator. */
export function userTokenOwner(
  { store }: GovernanceContext,
  caller: GovernanceCaller,
  userId: string,
): Result<TokenOwner, GovernanceRefusal> {
  const isOwn = caller.kind === 'user' && caller.userId === userId
  if (!store.tables.users.has(userId) || !(isOwn || isSiteAdministrator(caller)))
    return err(NOT_FOUND)
  return ok({ kind: 'user', ownerId: userId, organizationId: null })
}

/** Returns the tokens of an owner, oldest first. */
export function tokensOf(
  { store }: GovernanceContext,
  { kind, ownerId }: Pick<TokenOwner, 'kind' | 'ownerId'>,
): readonly ApiTokenRow[] {
  return store.tables.api_tokens
    .rowsByIndex('owner', scopedKey(kind, ownerId))
    .toSorted((a, b) => a.createdMs - b.createdMs || compareText(a.id, b.id))
}

/** Returns the single token without description of an organization or team. */
export function findUnnamedToken(
  context: GovernanceContext,
  owner: TokenOwner,
): Result<ApiTokenRow, GovernanceRefusal> {
  const token = tokensOf(context, owner).find(({ description }) => description === null)
  return token === undefined ? err(NOT_FOUND) : ok(token)
}

type TokenAttributes = NonNullable<v2.AuthenticationTokenRequest['data']['attributes']>

export interface CreatedToken {
  readonly token: ApiTokenRow
  /** Returned only once. */
  readonly secret: string
}

interface NewToken {
  readonly owner: TokenOwner
  readonly attributes: TokenAttributes | undefined
  /** Creates the single token without description; the previous one is revoked. */
  readonly isUnnamed: boolean
}

export async function createToken(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { owner, attributes = {}, isUnnamed }: NewToken,
): Promise<Result<CreatedToken, GovernanceRefusal>> {
  const nowMs = context.clock.nowMs()
  const expiresMs = resolveExpiry(owner.kind, attributes['expired-at'] ?? null, nowMs)
  if (!expiresMs.ok) return expiresMs
  // An empty description counts as one: only a token with none at all is the single token of its
  // owner.
  const description = isUnnamed ? null : (attributes.description ?? null)
  const existing = tokensOf(context, owner)
  const isTaken = existing.some((one) => one.description === description)
  if (owner.kind === 'team' && !isUnnamed && isTaken) return err(DESCRIPTION_TAKEN)
  const secret = newSecret(context.ids)
  const token: ApiTokenRow = {
    id: newId(context.ids, 'authentication-tokens'),
    ...owner,
    secretHash: context.sealer.hash(secret),
    description,
    createdById: caller.userId,
    createdMs: nowMs,
    lastUsedMs: null,
    expiresMs: expiresMs.value,
  }
  const replaced = isUnnamed ? existing.filter((one) => one.description === null) : []
  await commitWrite(context, {
    caller,
    organizationId: owner.organizationId,
    affectedIds: [token.id],
    changes: [...replaced.map(({ id }) => remove('api_tokens', id)), put('api_tokens', token)],
  })
  return ok({ token, secret })
}

/** Clients match on title and text. */
const DESCRIPTION_TAKEN: GovernanceRefusal = {
  code: 'invalid',
  problems: [
    {
      pointer: '/data/attributes/description',
      detail: 'Validation failed: Description has already been taken',
      title: v2.ERROR_TITLES.invalidAttributes,
    },
  ],
}

/** Returns the expiry: by default two years for teams and organizations, none for users. */
function resolveExpiry(
  kind: ApiTokenKind,
  requested: string | null,
  nowMs: number,
): Result<number | null, GovernanceRefusal> {
  if (requested === null)
    return ok(kind === 'user' ? null : yearsAfter(nowMs, v2.TOKEN_LIFETIME_YEARS_DEFAULT))
  const expiresMs = Date.parse(requested)
  if (expiresMs > nowMs) return ok(expiresMs)
  return err(invalidAttribute('/data/attributes/expired-at', 'Expired at must be in the future'))
}

/** Returns the same date and time years later; February 29 becomes March 1. */
function yearsAfter(timeMs: number, years: number): number {
  const date = new Date(timeMs)
  return date.setUTCFullYear(date.getUTCFullYear() + years)
}

/** Returns a token of any kind if the caller may manage it. */
export function findToken(
  context: GovernanceContext,
  caller: GovernanceCaller,
  tokenId: string,
): Result<ApiTokenRow, GovernanceRefusal> {
  const token = context.store.tables.api_tokens.find(tokenId)
  if (token === undefined) return err(NOT_FOUND)
  const owner = findManagedOwner(context, caller, token)
  return owner.ok ? ok(token) : owner
}

function findManagedOwner(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { kind, ownerId }: ApiTokenRow,
): Result<TokenOwner, GovernanceRefusal> {
  switch (kind) {
    case 'user':
      return userTokenOwner(context, caller, ownerId)
    case 'team':
      return teamTokenOwner(context, caller, ownerId)
    default: {
      const { name } = context.store.tables.organizations.get(ownerId)
      return organizationTokenOwner(context, caller, { name, kind })
    }
  }
}

export async function revokeToken(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, organizationId }: ApiTokenRow,
): Promise<Result<void, GovernanceRefusal>> {
  await commitWrite(context, {
    caller,
    organizationId,
    affectedIds: [id],
    changes: [remove('api_tokens', id)],
  })
  return ok(undefined)
}

interface TeamTokenSearch {
  readonly organizationName: string
  /** Substring of the team name. */
  readonly nameContains?: string | undefined
  readonly sort?: string | undefined
}

/** Lists the tokens of all teams whose tokens the caller may manage. */
export function listTeamTokens(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, nameContains = '', sort = '' }: TeamTokenSearch,
): Result<readonly ApiTokenRow[], GovernanceRefusal> {
  const lookup = findOrganization(context, caller, organizationName)
  if (!lookup.ok) return lookup
  const { teams } = context.store.tables
  const found = teams
    .rowsByIndex('organization', lookup.value.organization.id)
    .filter((team) => teamRights(lookup.value.role, team).manageTokens)
    .filter(({ name }) => normalizeName(name).includes(normalizeName(nameContains)))
  const tokens = found.flatMap(({ id }) => tokensOf(context, { kind: 'team', ownerId: id }))
  return ok(tokens.toSorted(tokenOrder(context, sort)))
}

function tokenOrder(
  context: GovernanceContext,
  sort: string,
): (a: ApiTokenRow, b: ApiTokenRow) => number {
  const isDescending = sort.startsWith('-')
  const key = isDescending ? sort.slice(1) : sort
  const valueOf = (row: ApiTokenRow): string | number => {
    if (key === 'created-by') return findPublicUser(context, row.createdById)?.username ?? ''
    if (key === 'expired-at') return row.expiresMs ?? Infinity
    return key === 'last-used-at' ? (row.lastUsedMs ?? 0) : row.createdMs
  }
  return (a, b) => {
    const [x, y] = [valueOf(a), valueOf(b)]
    const order = x < y ? -1 : x > y ? 1 : compareText(a.id, b.id)
    return isDescending ? -order : order
  }
}
