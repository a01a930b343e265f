import type {
  OneTimeTokenExchangeRequest,
  OneTimeTokenExchangeResponse,
  OneTimeTokenResponse,
} from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import {
  NO_GRANTS,
  MANAGEMENT_GRANTS,
  parseAclRules,
  resolveGrants,
  type AclRules,
  type Caller,
} from '../../acl/index.ts'
import { LruCache } from '@reeve/kit/lru-cache.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  PERMISSION_DENIED,
  refusal,
  type AclTokenRow,
  type Refusal,
  LIMITS,
} from '../../model/index.ts'
import { put, remove, type Author } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import { tokenWithSecret } from './tokens.ts'

/**
 * Maximum number of cached callers. Tokens come from the table, so this limit only bounds memory.
 */
const CACHED_CALLERS_MAX = 10_000
const ANONYMOUS = 'anonymous'
const TOKEN_EXPIRED: Refusal = refusal('acl-token-expired', 'ACL token expired')

/** Authenticates callers. The cache is cleared when any ACL row changes. */
export class Authenticator {
  readonly #context: WorkloadContext
  readonly #callers = new LruCache<string, Caller>({ weightMax: CACHED_CALLERS_MAX })
  readonly #rules = new Map<string, AclRules>()
  #aclIndex = -1

  constructor(context: WorkloadContext) {
    this.#context = context
  }

  authenticate(secret: string | undefined): Result<Caller, Refusal> {
    if (!this.#context.aclEnabled) return ok(UNRESTRICTED_CALLER)
    this.#invalidateIfChanged()
    if (secret === undefined || secret === '') return ok(this.#anonymousCaller())
    const token = this.findToken(secret)
    if (token === undefined) return err(PERMISSION_DENIED)
    const caller = this.callerFor(token)
    if (caller.expiresMs !== undefined && caller.expiresMs <= this.#context.clock.nowMs())
      return err(TOKEN_EXPIRED)
    return ok(caller)
  }

  /** Returns the token of a secret, expired or not. Found by hash, so timing reveals nothing. */
  findToken(secret: string): AclTokenRow | undefined {
    const { store, sealer } = this.#context
    const [accessor] = store.tables.acl_tokens.keysByIndex('secret', sealer.hash(secret))
    return accessor === undefined ? undefined : store.tables.acl_tokens.find(accessor)
  }

  /** Returns the caller of a token with its current permissions. */
  callerFor(token: AclTokenRow): Caller {
    this.#invalidateIfChanged()
    const cached = this.#callers.get(token.AccessorID)
    if (cached !== undefined) return cached
    const grants =
      token.Type === 'management' ? MANAGEMENT_GRANTS : resolveGrants(token, this.#grantLookups())
    const expiry = token.ExpirationTime
    const caller: Caller = {
      grants,
      accessorId: token.AccessorID,
      name: token.Name,
      type: token.Type === 'management' ? 'management' : 'client',
      expiresMs: expiry === null ? undefined : Date.parse(expiry),
    }
    return this.#cacheCaller(token.AccessorID, caller)
  }

  /**
   * Returns the caller of requests without a token, with the policy named `anonymous` if it exists.
   */
  #anonymousCaller(): Caller {
    const cached = this.#callers.get(ANONYMOUS)
    if (cached !== undefined) return cached
    const hasPolicy = this.#context.store.tables.acl_policies.has(ANONYMOUS)
    const token = { Type: 'client', Policies: [ANONYMOUS], Roles: null } as const
    const grants = hasPolicy ? resolveGrants(token, this.#grantLookups()) : NO_GRANTS
    return this.#cacheCaller(ANONYMOUS, {
      grants,
      accessorId: ANONYMOUS,
      name: 'Anonymous Token',
      type: 'anonymous',
      expiresMs: undefined,
    })
  }

  #grantLookups(): Parameters<typeof resolveGrants>[1] {
    const { acl_roles } = this.#context.store.tables
    return {
      policyRules: (name) => this.#rulesOf(name),
      rolePolicies: (id) => acl_roles.find(id)?.Policies.map((link) => link.Name),
    }
  }

  #rulesOf(name: string): AclRules | undefined {
    const cached = this.#rules.get(name)
    const policy = this.#context.store.tables.acl_policies.find(name)
    if (cached !== undefined || policy === undefined) return cached
    const rules = parseAclRules(policy.Rules, this.#context.ruleAliases)
    // Policies are parsed when they are written; one that no longer parses grants nothing.
    if (!rules.ok) return undefined
    this.#rules.set(name, rules.value)
    return rules.value
  }

  #cacheCaller(key: string, caller: Caller): Caller {
    this.#callers.set(key, caller)
    return caller
  }

  #invalidateIfChanged(): void {
    const { acl_tokens, acl_policies, acl_roles } = this.#context.store.tables
    const index = Math.max(acl_tokens.lastIndex, acl_policies.lastIndex, acl_roles.lastIndex)
    if (index === this.#aclIndex) return
    this.#aclIndex = index
    this.#callers.clear()
    this.#rules.clear()
  }
}

/** Caller of all requests with ACLs disabled: it has every permission. */
const UNRESTRICTED_CALLER: Caller = {
  grants: MANAGEMENT_GRANTS,
  accessorId: '',
  name: '',
  type: 'disabled',
  expiresMs: undefined,
}

/** Creates a one-time token. A token has at most one; a new one invalidates the previous one. */
export async function createOneTimeToken(
  { store, sealer, ids, clock }: WorkloadContext,
  { accessorId, by }: RequestCaller,
): Promise<Result<OneTimeTokenResponse, Refusal>> {
  // Without a stored token there is nothing to exchange it for.
  if (!store.tables.acl_tokens.has(accessorId)) return err(PERMISSION_DENIED)
  const secret = ids.uuid()
  const row = {
    AccessorID: accessorId,
    SecretHash: sealer.hash(secret),
    ExpiresAt: isoFromMs(clock.nowMs() + LIMITS.oneTimeTokenMs),
    CreateIndex: 0,
    ModifyIndex: 0,
  }
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    // Deleted first, so that the new row gets a new create index.
    changes: () => [
      ...(store.tables.one_time_tokens.has(accessorId)
        ? [remove('one_time_tokens', accessorId)]
        : []),
      put('one_time_tokens', row),
    ],
  })
  await durable
  const { AccessorID, ExpiresAt } = row
  return ok({
    OneTimeToken: {
      OneTimeSecretID: secret,
      AccessorID,
      ExpiresAt,
      CreateIndex: index,
      ModifyIndex: index,
    },
    Index: index,
  })
}

/** Exchanges a one-time secret for its token. It works once; all failures return the same error. */
export async function exchangeOneTimeToken(
  context: WorkloadContext,
  { by }: Author,
  request: OneTimeTokenExchangeRequest,
): Promise<Result<OneTimeTokenExchangeResponse, Refusal>> {
  const { store } = context
  const secret = request.OneTimeSecretID ?? ''
  if (secret === '')
    return err(refusal('invalid-input', 'one-time token lookup failed: missing secret'))
  const token = findExchangeableToken(context, secret)
  if (token === undefined) return err(PERMISSION_DENIED)
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [remove('one_time_tokens', token.AccessorID)],
  })
  await durable
  return ok({ Token: tokenWithSecret(context, token), Index: index })
}

/** Finds the token of a one-time secret, if neither of them has expired. */
function findExchangeableToken(
  { store, sealer, clock }: WorkloadContext,
  secret: string,
): AclTokenRow | undefined {
  const { one_time_tokens, acl_tokens } = store.tables
  const [accessorId = ''] = one_time_tokens.keysByIndex('secret', sealer.hash(secret))
  const oneTime = one_time_tokens.find(accessorId)
  const token = acl_tokens.find(accessorId)
  const nowMs = clock.nowMs()
  const isExpired = (time: string | null): boolean => time !== null && Date.parse(time) <= nowMs
  if (oneTime === undefined || isExpired(oneTime.ExpiresAt)) return undefined
  return token === undefined || isExpired(token.ExpirationTime) ? undefined : token
}
