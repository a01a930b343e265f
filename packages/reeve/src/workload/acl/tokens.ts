import type { AclToken, AclTokenRequest, AclTokenRoleLink } from '@reeve/contract'
import {
  parseExpirationTime,
  parseExpirationTtl,
  tokenHash,
  validateToken,
  type Caller,
} from '../../acl/index.ts'
import { formatDurationNs, isoFromMs, parseDurationNs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { PERMISSION_DENIED, refusal, type AclTokenRow, type Refusal } from '../../model/index.ts'
import { put, remove, type Author, type Change, type Stamp } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { tokenWithSecret } from './token-view.ts'
import { isUuid } from './uuid.ts'

/** Result of a token write, with the secret. */
export interface TokenWriteResult {
  readonly index: number
  readonly token: AclToken
}

/**
 * Creates a token, or updates the one whose ID the request contains. A token replicated from
 * another region has both of its IDs.
 */
export async function writeToken(
  context: WorkloadContext,
  author: Author,
  request: AclTokenRequest,
): Promise<Result<TokenWriteResult, Refusal>> {
  const tokenIds = resolveTokenIds(context, request)
  if (!tokenIds.ok) return tokenIds
  const nowMs = context.clock.nowMs()
  const row = buildTokenRow(context, request, { ...tokenIds.value, nowMs })
  return row.ok ? ok(await commitToken(context, author, row.value)) : row
}

/** Commits a validated token with additional changes; resolves when it is durable. */
export async function commitToken(
  context: WorkloadContext,
  { by }: Author,
  row: AclTokenRow,
  extraChanges: (stamp: Stamp) => readonly Change[] = () => [],
): Promise<TokenWriteResult> {
  const { store } = context
  const { index, durable } = store.commit({
    by,
    cause: 'ACLTokenUpserted',
    changes: (stamp) => [put('acl_tokens', row), ...extraChanges(stamp)],
  })
  const written = store.tables.acl_tokens.get(row.AccessorID)
  await durable
  return { index, token: tokenWithSecret(context, written) }
}

/** Identity of a token to write: the stored row, or two IDs. */
interface TokenIds {
  readonly existing: AclTokenRow | undefined
  readonly accessorId: string
  readonly secretId: string
}

function resolveTokenIds(
  context: WorkloadContext,
  request: AclTokenRequest,
): Result<TokenIds, Refusal> {
  const { store, sealer, ids } = context
  const requestedId = request.AccessorID ?? ''
  if (requestedId === '')
    return ok({ existing: undefined, accessorId: ids.uuid(), secretId: ids.uuid() })
  const accessorId = requestedId.toLowerCase()
  const secretId = request.SecretID ?? ''
  const existing = store.tables.acl_tokens.find(accessorId)
  if (existing !== undefined) return ok({ existing, accessorId, secretId: '' })
  if (!isUuid(accessorId) || !isUuid(secretId) || request.Type !== 'client')
    return invalid(`cannot find token ${requestedId}`)
  if (store.tables.acl_tokens.countByIndex('secret', sealer.hash(secretId)) > 0)
    return invalid('another token has this secret')
  return ok({ existing, accessorId, secretId })
}

function buildTokenRow(
  context: WorkloadContext,
  request: AclTokenRequest,
  origin: TokenIds & { readonly nowMs: number },
): Result<AclTokenRow, Refusal> {
  const { existing } = origin
  const expiry = parseExpiry(request, origin)
  if (!expiry.ok) return expiry
  const token = {
    Name: request.Name ?? '',
    Type: request.Type ?? '',
    Policies: request.Policies ?? null,
    Roles: request.Roles ?? null,
    Global: request.Global ?? existing?.Global ?? false,
  }
  const problem = validateToken({
    token,
    existing: existing && currentSettings(existing),
    ...expiry.value,
  })
  if (problem !== undefined) return invalid(problem)
  const Roles = resolveRoles(context, request.Roles ?? null)
  if (!Roles.ok) return Roles
  const { expirationMs, ttlNs, createMs } = expiry.value
  const permissions = {
    ...token,
    // `validateToken` accepts only these two types.
    Type: token.Type === 'management' ? 'management' : 'client',
    Roles: Roles.value,
  } as const
  return ok({
    ...(existing ?? secretFields(context, origin)),
    ...permissions,
    Hash: tokenHash(permissions),
    CreateTime: existing?.CreateTime ?? isoFromMs(createMs),
    ExpirationTime: expirationMs === undefined ? null : isoFromMs(expirationMs),
    ExpirationTTL: ttlNs === undefined ? '' : formatDurationNs(ttlNs),
    CreateIndex: 0,
    ModifyIndex: 0,
  })
}

/** Fields that identify a token by the hash of its secret, and the sealed secret. */
export function secretFields(
  { sealer }: WorkloadContext,
  { accessorId, secretId }: { readonly accessorId: string; readonly secretId: string },
): Pick<AclTokenRow, 'AccessorID' | 'SecretHash' | 'SealedSecret'> {
  return {
    AccessorID: accessorId,
    SecretHash: sealer.hash(secretId),
    SealedSecret: sealer.seal(secretId),
  }
}

interface Expiry {
  readonly createMs: number
  readonly expirationMs: number | undefined
  readonly ttlNs: number | undefined
}

/** Parses the expiration. An update without one keeps the current expiration. */
function parseExpiry(
  request: AclTokenRequest,
  { existing, nowMs }: TokenIds & { readonly nowMs: number },
): Result<Expiry, Refusal> {
  const time = parseExpirationTime(request.ExpirationTime)
  if (!time.ok) return invalid(time.error)
  const ttl = parseExpirationTtl(request.ExpirationTTL)
  if (!ttl.ok) return invalid(ttl.error)
  if (existing !== undefined) {
    const current = currentSettings(existing)
    return ok({
      createMs: Date.parse(existing.CreateTime),
      expirationMs: time.value ?? current.expirationMs,
      ttlNs: ttl.value ?? current.ttlNs,
    })
  }
  const fromTtl = ttl.value === undefined ? undefined : nowMs + Math.round(ttl.value / NS_PER_MS)
  return ok({ createMs: nowMs, expirationMs: time.value ?? fromTtl, ttlNs: ttl.value })
}

const NS_PER_MS = 1e6

function currentSettings(row: AclTokenRow) {
  return {
    Global: row.Global,
    expirationMs: row.ExpirationTime === null ? undefined : Date.parse(row.ExpirationTime),
    ttlNs: row.ExpirationTTL === '' ? undefined : parseDurationNs(row.ExpirationTTL),
  }
}

/** Resolves role links by ID or name to unique IDs. */
function resolveRoles(
  { store }: WorkloadContext,
  links: AclTokenRequest['Roles'] | null,
): Result<readonly AclTokenRoleLink[] | null, Refusal> {
  if (links === null || links === undefined) return ok(null)
  const { acl_roles } = store.tables
  const roleIds = new Set<string>()
  for (const { ID, Name } of links) {
    const id = ID || [...acl_roles.keysByIndex('name', Name ?? '')][0]
    if (id === undefined || !acl_roles.has(id))
      return invalid(`cannot find role ${ID || Name || ''}`)
    roleIds.add(id)
  }
  return ok([...roleIds].map((ID) => ({ ID, Name: '' })))
}

/** Deletes a token with its one-time token. */
export async function deleteToken(
  { store }: WorkloadContext,
  { by }: Author,
  accessorId: string,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const key = accessorId.toLowerCase()
  if (!store.tables.acl_tokens.has(key))
    return invalid(`Cannot delete nonexistent tokens: ${accessorId}`)
  const { index, durable } = store.commit({
    by,
    cause: 'ACLTokenDeleted',
    changes: () => [
      remove('acl_tokens', key),
      ...(store.tables.one_time_tokens.has(key) ? [remove('one_time_tokens', key)] : []),
    ],
  })
  await durable
  return ok({ index })
}

/**
 * Checks that the caller may read a token. An unknown token gives the same error as a forbidden
 * one.
 */
export function checkTokenReader(caller: Caller, accessorId: string): Refusal | undefined {
  const isOwn = caller.type === 'client' && caller.accessorId === accessorId.toLowerCase()
  return caller.grants.isManagement || isOwn ? undefined : PERMISSION_DENIED
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
