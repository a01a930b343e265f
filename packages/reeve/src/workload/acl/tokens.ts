import type { AclToken, AclTokenRequest, AclTokenRoleLink } from '@reeve/contract'
import {
  readExpirationTime,
  readExpirationTtl,
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

/** A token that was written, with its secret. */
export interface TokenWritten {
  readonly index: number
  readonly token: AclToken
}

/**
 * A token is created when the request names none; one that is brought in from elsewhere carries
 * both of its ids.
 */
export async function writeToken(
  context: WorkloadContext,
  author: Author,
  request: AclTokenRequest,
): Promise<Result<TokenWritten, Refusal>> {
  const origin = findOrigin(context, request)
  if (!origin.ok) return origin
  const nowMs = context.clock.nowMs()
  const row = makeRow(context, request, { ...origin.value, nowMs })
  return row.ok ? ok(await commitToken(context, author, row.value)) : row
}

/** Stores a token that was checked, with what belongs to it, and answers when it is durable. */
export async function commitToken(
  context: WorkloadContext,
  { by }: Author,
  row: AclTokenRow,
  more: (stamp: Stamp) => readonly Change[] = () => [],
): Promise<TokenWritten> {
  const { store } = context
  const { index, durable } = store.commit({
    by,
    cause: 'ACLTokenUpserted',
    changes: (stamp) => [put('acl_tokens', row), ...more(stamp)],
  })
  const written = store.tables.acl_tokens.get(row.AccessorID)
  await durable
  return { index, token: tokenWithSecret(context, written) }
}

/** Where a written token comes from: a stored one, or two ids. */
interface Origin {
  readonly existing: AclTokenRow | undefined
  readonly accessorId: string
  readonly secretId: string
}

function findOrigin(context: WorkloadContext, request: AclTokenRequest): Result<Origin, Refusal> {
  const { store, sealer, ids } = context
  const given = request.AccessorID ?? ''
  if (given === '') return ok({ existing: undefined, accessorId: ids.uuid(), secretId: ids.uuid() })
  const accessorId = given.toLowerCase()
  const secretId = request.SecretID ?? ''
  const existing = store.tables.acl_tokens.find(accessorId)
  if (existing !== undefined) return ok({ existing, accessorId, secretId: '' })
  if (!isUuid(accessorId) || !isUuid(secretId) || request.Type !== 'client')
    return invalid(`cannot find token ${given}`)
  if (store.tables.acl_tokens.countIn('secret', sealer.hash(secretId)) > 0)
    return invalid('another token has this secret')
  return ok({ existing, accessorId, secretId })
}

function makeRow(
  context: WorkloadContext,
  request: AclTokenRequest,
  origin: Origin & { readonly nowMs: number },
): Result<AclTokenRow, Refusal> {
  const { existing } = origin
  const expiry = readExpiry(request, origin)
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
    existing: existing && existingOf(existing),
    ...expiry.value,
  })
  if (problem !== undefined) return invalid(problem)
  const Roles = resolveRoles(context, request.Roles ?? null)
  if (!Roles.ok) return Roles
  const { expirationMs, ttlNs, createMs } = expiry.value
  const rights = {
    ...token,
    // validateToken accepts these two only.
    Type: token.Type === 'management' ? 'management' : 'client',
    Roles: Roles.value,
  } as const
  return ok({
    ...(existing ?? newSecret(context, origin)),
    ...rights,
    Hash: tokenHash(rights),
    CreateTime: existing?.CreateTime ?? isoFromMs(createMs),
    ExpirationTime: expirationMs === undefined ? null : isoFromMs(expirationMs),
    ExpirationTTL: ttlNs === undefined ? '' : formatDurationNs(ttlNs),
    CreateIndex: 0,
    ModifyIndex: 0,
  })
}

/** The part of a new row that says what it is found by and what it hides. */
export function newSecret(
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

/** A lifetime that an update does not name stays as it is (choice 18). */
function readExpiry(
  request: AclTokenRequest,
  { existing, nowMs }: Origin & { readonly nowMs: number },
): Result<Expiry, Refusal> {
  const time = readExpirationTime(request.ExpirationTime)
  if (!time.ok) return invalid(time.error)
  const ttl = readExpirationTtl(request.ExpirationTTL)
  if (!ttl.ok) return invalid(ttl.error)
  if (existing !== undefined) {
    const before = existingOf(existing)
    return ok({
      createMs: Date.parse(existing.CreateTime),
      expirationMs: time.value ?? before.expirationMs,
      ttlNs: ttl.value ?? before.ttlNs,
    })
  }
  const fromTtl = ttl.value === undefined ? undefined : nowMs + Math.round(ttl.value / NS_PER_MS)
  return ok({ createMs: nowMs, expirationMs: time.value ?? fromTtl, ttlNs: ttl.value })
}

const NS_PER_MS = 1e6

function existingOf(row: AclTokenRow) {
  return {
    Global: row.Global,
    expirationMs: row.ExpirationTime === null ? undefined : Date.parse(row.ExpirationTime),
    ttlNs: row.ExpirationTTL === '' ? undefined : parseDurationNs(row.ExpirationTTL),
  }
}

/** Named by id or by name, stored by id, each once. */
function resolveRoles(
  { store }: WorkloadContext,
  links: AclTokenRequest['Roles'] | null,
): Result<readonly AclTokenRoleLink[] | null, Refusal> {
  if (links === null || links === undefined) return ok(null)
  const { acl_roles } = store.tables
  const found = new Set<string>()
  for (const { ID, Name } of links) {
    const id = ID || [...acl_roles.keysIn('name', Name ?? '')][0]
    if (id === undefined || !acl_roles.has(id))
      return invalid(`cannot find role ${ID || Name || ''}`)
    found.add(id)
  }
  return ok([...found].map((ID) => ({ ID, Name: '' })))
}

/** Its one-time token goes with it. */
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

/** For others a token that is not theirs and one that is not there are the same. */
export function checkTokenReader(caller: Caller, accessorId: string): Refusal | undefined {
  const isOwn = caller.type === 'client' && caller.accessorId === accessorId.toLowerCase()
  return caller.grants.isManagement || isOwn ? undefined : PERMISSION_DENIED
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
