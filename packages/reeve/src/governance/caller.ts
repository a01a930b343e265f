import type { ApiTokenRow, UserRow } from '../model/index.ts'
import { normalizeName, put, type Author } from '../state/index.ts'
import { commitSystemWrite } from './commit.ts'
import type { GovernanceContext } from './context.ts'
import { idSuffixFromUuid, idSuffixOf } from './ids.ts'

/** Caller of a request, with the audit fields of its commits. */
export type GovernanceCaller = CallerIdentity & Author

/**
 * A user, or the service user that a team or organization token acts as. `userId` is recorded in
 * `created-by` and in locks.
 */
export type CallerIdentity =
  /** A management token of `/v1` acts as the site administrator. */
  | { readonly kind: 'site'; readonly userId: string; readonly accessorId: string }
  | {
      readonly kind: 'user'
      readonly userId: string
      readonly isAdmin: boolean
      readonly tokenId: string
    }
  | {
      readonly kind: 'team'
      readonly userId: string
      readonly teamId: string
      readonly organizationId: string
      readonly tokenId: string
    }
  | {
      readonly kind: 'organization' | 'audit-trails'
      readonly userId: string
      readonly organizationId: string
      readonly tokenId: string
    }

/** Returns the site administrator for a management token. */
export function siteAdministratorCaller(accessorId: string): CallerIdentity {
  return { kind: 'site', userId: `user-${idSuffixFromUuid(accessorId)}`, accessorId }
}

export function isSiteAdministrator(caller: CallerIdentity): boolean {
  return caller.kind === 'site' || (caller.kind === 'user' && caller.isAdmin)
}

/**
 * Returns the caller for a bearer secret; undefined if it is invalid, expired, or its owner was
 * deleted. Secrets are looked up by hash, so timing reveals nothing.
 */
export function findCaller(context: GovernanceContext, secret: string): CallerIdentity | undefined {
  const { tables } = context.store
  const [id] = tables.api_tokens.keysByIndex('secret', context.sealer.hash(secret))
  const token = id === undefined ? undefined : tables.api_tokens.find(id)
  if (token === undefined || isExpired(token, context.clock.nowMs())) return undefined
  const caller = toCaller(context, token)
  if (caller !== undefined) recordTokenUse(context, token)
  return caller
}

/**
 * Returns the caller for a token ID: a token of this API, or the accessor of a management token.
 * Undefined if it was deleted or has expired.
 */
export function findTokenCaller(
  context: Pick<GovernanceContext, 'store' | 'clock'>,
  tokenId: string,
): CallerIdentity | undefined {
  const { api_tokens: tokens, acl_tokens: managementTokens } = context.store.tables
  const nowMs = context.clock.nowMs()
  const token = tokens.find(tokenId)
  if (token !== undefined) return isExpired(token, nowMs) ? undefined : toCaller(context, token)
  const management = managementTokens.find(tokenId)
  if (management?.Type !== 'management') return undefined
  const { ExpirationTime: expires } = management
  return expires !== null && Date.parse(expires) <= nowMs
    ? undefined
    : siteAdministratorCaller(tokenId)
}

/**
 * Returns the user or organization that a bearer secret was created for, whether or not it is
 * valid.
 */
export function findTokenOwnerId(
  { store, sealer }: GovernanceContext,
  secret: string,
): string | undefined {
  const [id] = store.tables.api_tokens.keysByIndex('secret', sealer.hash(secret))
  const token = id === undefined ? undefined : store.tables.api_tokens.find(id)
  return token === undefined ? undefined : (token.organizationId ?? token.ownerId)
}

function isExpired({ expiresMs }: ApiTokenRow, nowMs: number): boolean {
  return expiresMs !== null && expiresMs <= nowMs
}

function toCaller(
  context: Pick<GovernanceContext, 'store'>,
  token: ApiTokenRow,
): CallerIdentity | undefined {
  const { tables } = context.store
  const { kind, ownerId, organizationId, id: tokenId } = token
  if (kind === 'user') {
    const user = tables.users.find(ownerId)
    if (user === undefined) return undefined
    return { kind, userId: user.id, isAdmin: user.isAdmin, tokenId }
  }
  if (organizationId === null || !tables.organizations.has(organizationId)) return undefined
  const userId = serviceUserId(ownerId)
  if (kind !== 'team') return { kind, userId, organizationId, tokenId }
  if (!tables.teams.has(ownerId)) return undefined
  return { kind, userId, teamId: ownerId, organizationId, tokenId }
}

/** The service user of a team or organization shares the random part of its ID. */
function serviceUserId(ownerId: string): string {
  return `user-${idSuffixOf(ownerId)}`
}

/** Returns the author of writes that the organization itself makes, without a caller. */
export function organizationAuthor(
  context: Pick<GovernanceContext, 'store'>,
  organizationId: string,
): { readonly userId: string; readonly username: string } {
  const userId = serviceUserId(organizationId)
  return { userId, username: usernameOf(context, { userId }) }
}

/** Name of the site administrator, who is not a user. */
const SITE_USERNAME = 'administrator'
const TEAM_USERNAME_PREFIX = 'api-team_'
const ORGANIZATION_USERNAME_PREFIX = 'api-org-'

/**
 * Reports whether the name is reserved for a caller that is not a user, or resembles such a name.
 */
export function isReservedUsername(username: string): boolean {
  const folded = normalizeName(username)
  return (
    folded === SITE_USERNAME ||
    folded.startsWith(TEAM_USERNAME_PREFIX) ||
    folded.startsWith(ORGANIZATION_USERNAME_PREFIX)
  )
}

/** Returns the display name of the caller; stored in records that outlive the account. */
export function callerName(
  context: Pick<GovernanceContext, 'store'>,
  { kind, userId }: CallerIdentity,
): string {
  return kind === 'site' ? SITE_USERNAME : usernameOf(context, { userId })
}

/** Returns the username; after deletion of the user the stored one. */
export function usernameOf(
  context: Pick<GovernanceContext, 'store'>,
  {
    userId,
    fallbackName = userId,
  }: { readonly userId: string; readonly fallbackName?: string | undefined },
): string {
  return findPublicUser(context, userId)?.username ?? fallbackName
}

/** A user in documents: a user, or the service user of a team or organization. */
export type PublicUser = Pick<UserRow, 'id' | 'username'> & {
  readonly isServiceAccount: boolean
  readonly email: string | null
  readonly isAdmin: boolean
  /**
   * Organization in which a service user is visible; null for the site administrator, who is
   * visible everywhere.
   */
  readonly organizationId: string | null
}

/** Returns the user with this ID, including service users; undefined if there is none. */
export function findPublicUser(
  context: Pick<GovernanceContext, 'store'>,
  userId: string,
): PublicUser | undefined {
  const { tables } = context.store
  const user = tables.users.find(userId)
  if (user !== undefined) return { ...user, isServiceAccount: false, organizationId: null }
  const service = { id: userId, isServiceAccount: true, email: null, isAdmin: false } as const
  const suffix = idSuffixOf(userId)
  const team = tables.teams.find(`team-${suffix}`)
  if (team !== undefined)
    return {
      ...service,
      username: TEAM_USERNAME_PREFIX + suffix,
      organizationId: team.organizationId,
    }
  const organization = tables.organizations.find(`org-${suffix}`)
  if (organization === undefined) return undefined
  const username = ORGANIZATION_USERNAME_PREFIX + organization.name
  return { ...service, username, organizationId: organization.id }
}

/** The last use of a token is recorded at most once a minute. */
const TOKEN_USE_INTERVAL_MS = 60_000

function recordTokenUse({ store, clock }: GovernanceContext, token: ApiTokenRow): void {
  const nowMs = clock.nowMs()
  if (token.lastUsedMs !== null && nowMs - token.lastUsedMs < TOKEN_USE_INTERVAL_MS) return
  // A failed store still serves reads, which must not fail because the use cannot be recorded.
  if (store.fault !== undefined) return
  const changes = [put('api_tokens', { ...token, lastUsedMs: nowMs })]
  commitSystemWrite({ store }, { changes, emitsEvents: false })
}
