import type {
  AclBootstrapRequest,
  AclToken,
  AclTokenRequest,
  AclTokenRoleLink,
  AclTokenStub,
} from '@reeve/contract'
import {
  parseExpirationTime,
  parseExpirationTtl,
  tokenHash,
  validateToken,
  type Caller,
} from '../../acl/index.ts'
import { formatDurationNs, isoFromMs, parseDurationNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  PERMISSION_DENIED,
  refusal,
  type AclTokenRow,
  type Refusal,
  aclTokenStub,
  aclTokenView,
  invalidInput,
} from '../../model/index.ts'
import {
  put,
  remove,
  type Author,
  type Change,
  type Stamp,
  findSetting,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

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
async function commitToken(
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
    return invalidInput(`cannot find token ${requestedId}`)
  if (store.tables.acl_tokens.countByIndex('secret', sealer.hash(secretId)) > 0)
    return invalidInput('another token has this secret')
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
  if (problem !== undefined) return invalidInput(problem)
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
function secretFields(
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
  if (!time.ok) return invalidInput(time.error)
  const ttl = parseExpirationTtl(request.ExpirationTTL)
  if (!ttl.ok) return invalidInput(ttl.error)
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
      return invalidInput(`cannot find role ${ID || Name || ''}`)
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
    return invalidInput(`Cannot delete nonexistent tokens: ${accessorId}`)
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

/** Accessor ID and policy name of requests without a token. */
export const ANONYMOUS = 'anonymous'

/** Returns the token with its secret, for its holder and management. */
export function tokenWithSecret(context: WorkloadContext, row: AclTokenRow): AclToken {
  return aclTokenView(withRoleNames(context, row), context.sealer.open(row.SealedSecret))
}

/** Returns the token as it appears in lists. */
export function tokenStub(context: WorkloadContext, row: AclTokenRow): AclTokenStub {
  return aclTokenStub(withRoleNames(context, row))
}

/** Returns the object that filters are evaluated on: the token without its secret. */
export function tokenFilterView(context: WorkloadContext, row: AclTokenRow): AclToken {
  return aclTokenView(withRoleNames(context, row), '')
}

/**
 * Adds the names of roles. Links are stored by ID, so a role may be renamed; deleted roles are
 * omitted.
 */
function withRoleNames({ store }: WorkloadContext, row: AclTokenRow): AclTokenRow {
  if (row.Roles === null || row.Roles.length === 0) return row
  const Roles = row.Roles.flatMap(({ ID }) => {
    const role = store.tables.acl_roles.find(ID)
    return role === undefined ? [] : [{ ID, Name: role.Name }]
  })
  return { ...row, Roles }
}

const ANONYMOUS_PERMISSIONS = {
  Name: 'Anonymous Token',
  Type: 'client',
  Policies: [ANONYMOUS],
  Roles: null,
  Global: false,
} as const

/** The token of requests without a token. It is never stored. */
export const ANONYMOUS_TOKEN: AclToken = {
  ...ANONYMOUS_PERMISSIONS,
  AccessorID: ANONYMOUS,
  SecretID: '',
  Hash: tokenHash(ANONYMOUS_PERMISSIONS),
  CreateTime: ZERO_TIME,
  ExpirationTime: null,
  ExpirationTTL: '',
  CreateIndex: 0,
  ModifyIndex: 0,
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Accessor IDs and secrets are UUIDs. */
function isUuid(text: string): boolean {
  return UUID.test(text)
}

const SETTING = 'acl-bootstrap'

/** Maximum number of characters of the reset file in a message: an index has at most 16. */
const RESET_CHARS_SHOWN_MAX = 20

/**
 * Creates the first management token. Works once, and again each time that an operator writes the
 * index of the last bootstrap into the reset file.
 */
export async function bootstrapAcl(
  context: WorkloadContext,
  author: Author,
  request: AclBootstrapRequest,
): Promise<Result<TokenWriteResult, Refusal>> {
  const { store, ids } = context
  const requestedSecret = request.BootstrapSecret ?? ''
  if (requestedSecret !== '' && !isUuid(requestedSecret))
    return invalidBootstrap('invalid acl token')
  const isFirst = !store.tables.settings.has(SETTING)
  const reset = isFirst ? undefined : await context.readBootstrapReset()
  // No await from here to the commit, so that of two concurrent callers one is refused.
  const refused = checkReset(context, reset) ?? checkSecret(context, requestedSecret)
  if (refused !== undefined) return err(refused)
  const row = bootstrapToken(context, {
    accessorId: ids.uuid(),
    secretId: requestedSecret || ids.uuid(),
  })
  const written = await commitToken(context, author, row, (stamp) => [
    put('settings', { Name: SETTING, ResetIndex: stamp.index, CreateIndex: 0, ModifyIndex: 0 }),
  ])
  return ok(written)
}

function checkReset({ store }: WorkloadContext, reset: string | undefined): Refusal | undefined {
  const lastBootstrap = findSetting(store.tables, SETTING)
  if (lastBootstrap === undefined) return undefined
  const specified = reset?.trim() ?? ''
  if (specified === String(lastBootstrap.ResetIndex)) return undefined
  if (specified === '')
    return refusal(
      'bootstrap-done',
      `ACL bootstrap already done (reset index: ${lastBootstrap.ResetIndex})`,
    )
  return refusal(
    'bootstrap-done',
    `Invalid bootstrap reset index (specified ${specified.slice(0, RESET_CHARS_SHOWN_MAX)}, ` +
      `reset index: ${lastBootstrap.ResetIndex})`,
  )
}

/** Refuses a secret that another token has: the two could not be distinguished. */
function checkSecret({ store, sealer }: WorkloadContext, secret: string): Refusal | undefined {
  const isTaken =
    secret !== '' && store.tables.acl_tokens.countByIndex('secret', sealer.hash(secret)) > 0
  return isTaken ? refusal('invalid-input', 'invalid acl token') : undefined
}

function bootstrapToken(
  context: WorkloadContext,
  secret: { readonly accessorId: string; readonly secretId: string },
): AclTokenRow {
  const rights = {
    Name: 'Bootstrap Token',
    Type: 'management',
    Policies: null,
    Roles: null,
    Global: true,
  } as const
  return {
    ...secretFields(context, secret),
    ...rights,
    Hash: tokenHash(rights),
    CreateTime: isoFromMs(context.clock.nowMs()),
    ExpirationTime: null,
    ExpirationTTL: '',
    CreateIndex: 0,
    ModifyIndex: 0,
  }
}

function invalidBootstrap(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
