import type { ApiTokenRow, UserRow } from '../model/index.ts'
import { foldName, type Author } from '../state/index.ts'
import type { GovernanceContext } from './context.ts'
import { suffixOf, suffixPart } from './ids.ts'

/** The caller of a request: who it is, and the audit entry that its commits carry. */
export type GovernanceCaller = CallerIdentity & Author

/**
 * A person, or the service user that a team's or organization's token acts as.
 * `userId` is what `created-by` and locks name.
 */
export type CallerIdentity =
  /** The management token of `/v1` is the site administrator here. */
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

/** The site administrator that a management token stands for. */
export function siteCaller(accessorId: string): CallerIdentity {
  return { kind: 'site', userId: `user-${suffixOf(accessorId)}`, accessorId }
}

export function isSiteAdministrator(caller: CallerIdentity): boolean {
  return caller.kind === 'site' || (caller.kind === 'user' && caller.isAdmin)
}

/**
 * The caller that a bearer secret belongs to; undefined when it is none, has expired or belongs to
 * somebody who is gone. Found by hash, so the time taken tells nothing.
 */
export function findCaller(context: GovernanceContext, secret: string): CallerIdentity | undefined {
  const { tables } = context.store
  const [id] = tables.api_tokens.keysIn('secret', context.sealer.hash(secret))
  const token = id === undefined ? undefined : tables.api_tokens.find(id)
  if (token === undefined || isExpired(token, context.clock.nowMs())) return undefined
  const caller = callerOf(context, token)
  if (caller !== undefined) noteUse(context, token)
  return caller
}

/**
 * The caller that a token stands for, found by the id of the token: one of this API, or a
 * management token by its accessor. Undefined when it is gone or has expired.
 */
export function findTokenCaller(
  context: Pick<GovernanceContext, 'store' | 'clock'>,
  tokenId: string,
): CallerIdentity | undefined {
  const { api_tokens: tokens, acl_tokens: managementTokens } = context.store.tables
  const nowMs = context.clock.nowMs()
  const token = tokens.find(tokenId)
  if (token !== undefined) return isExpired(token, nowMs) ? undefined : callerOf(context, token)
  const management = managementTokens.find(tokenId)
  if (management?.Type !== 'management') return undefined
  const { ExpirationTime: expires } = management
  return expires !== null && Date.parse(expires) <= nowMs ? undefined : siteCaller(tokenId)
}

/** The user or organization that a bearer secret was made for, whether it may be used or not. */
export function findSecretOwner(
  { store, sealer }: GovernanceContext,
  secret: string,
): string | undefined {
  const [id] = store.tables.api_tokens.keysIn('secret', sealer.hash(secret))
  const token = id === undefined ? undefined : store.tables.api_tokens.find(id)
  return token === undefined ? undefined : (token.organizationId ?? token.ownerId)
}

function isExpired({ expiresMs }: ApiTokenRow, nowMs: number): boolean {
  return expiresMs !== null && expiresMs <= nowMs
}

function callerOf(
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

/** The service user of a team or organization has the same random part as its id. */
function serviceUserId(ownerId: string): string {
  return `user-${suffixPart(ownerId)}`
}

/** Who is named where the organization itself acts, and no caller does. */
export function organizationAuthor(
  context: Pick<GovernanceContext, 'store'>,
  organizationId: string,
): { readonly userId: string; readonly username: string } {
  const userId = serviceUserId(organizationId)
  return { userId, username: usernameOf(context, { userId }) }
}

/** What the site's own administrator is called: it is no user. */
const SITE_USERNAME = 'administrator'
const TEAM_USERNAME_PREFIX = 'api-team_'
const ORGANIZATION_USERNAME_PREFIX = 'api-org-'

/** Whether it is, or looks like, the name of somebody who is no user. */
export function isReservedUsername(username: string): boolean {
  const folded = foldName(username)
  return (
    folded === SITE_USERNAME ||
    folded.startsWith(TEAM_USERNAME_PREFIX) ||
    folded.startsWith(ORGANIZATION_USERNAME_PREFIX)
  )
}

/** What whoever calls is called, also for records that outlast them. */
export function callerName(
  context: Pick<GovernanceContext, 'store'>,
  { kind, userId }: CallerIdentity,
): string {
  return kind === 'site' ? SITE_USERNAME : usernameOf(context, { userId })
}

/** What somebody is called; once they are gone, what they were called then. */
export function usernameOf(
  context: Pick<GovernanceContext, 'store'>,
  {
    userId,
    nameThen = userId,
  }: { readonly userId: string; readonly nameThen?: string | undefined },
): string {
  return findShownUser(context, userId)?.username ?? nameThen
}

/** Somebody as documents show it: a user, or one who only acts for a team or organization. */
export type ShownUser = Pick<UserRow, 'id' | 'username'> & {
  readonly isServiceAccount: boolean
  readonly email: string | null
  readonly isAdmin: boolean
  /** Where a service user is known; null everywhere for the site's own. */
  readonly organizationId: string | null
}

/** Who has this user id, service users included; undefined when nobody has. */
export function findShownUser(
  context: Pick<GovernanceContext, 'store'>,
  userId: string,
): ShownUser | undefined {
  const { tables } = context.store
  const user = tables.users.find(userId)
  if (user !== undefined) return { ...user, isServiceAccount: false, organizationId: null }
  const service = { id: userId, isServiceAccount: true, email: null, isAdmin: false } as const
  const suffix = suffixPart(userId)
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

/** Written at most once a minute for each token. */
const USE_NOTED_EVERY_MS = 60_000

function noteUse({ store, clock }: GovernanceContext, token: ApiTokenRow): void {
  const nowMs = clock.nowMs()
  if (token.lastUsedMs !== null && nowMs - token.lastUsedMs < USE_NOTED_EVERY_MS) return
  // A store that has failed still answers reads; that somebody read is not worth a refusal.
  if (store.fault !== undefined) return
  store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [{ table: 'api_tokens', row: { ...token, lastUsedMs: nowMs } }],
  })
}
