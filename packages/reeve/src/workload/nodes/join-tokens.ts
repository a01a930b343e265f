import type {
  NodeJoinToken,
  NodeJoinTokenRequest,
  SharedJoinToken,
  SharedJoinTokenRequest,
} from '@reeve/contract'
import { isoFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  checkUuid,
  isNodeName,
  isNodePoolName,
  LIMITS,
  nodeJoinTokenStub,
  refusal,
  type NodeJoinTokenRow,
  type Refusal,
  invalidInput,
} from '../../model/index.ts'
import { findSetting, put, remove, type Author } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'

const JOIN_TOKEN_NOT_FOUND: Refusal = refusal('join-token-not-found', 'join token not found')

/**
 * Creates a token that admits one new node, once. Its secret is returned only here and not stored.
 */
export async function createJoinToken(
  { store, sealer, ids, clock }: WorkloadContext,
  { accessorId, by }: RequestCaller,
  request: NodeJoinTokenRequest,
): Promise<Result<NodeJoinToken, Refusal>> {
  const settings = parseJoinTokenRequest(request)
  if (!settings.ok) return settings
  const { ttlMs, NodeName, NodePool } = settings.value
  if (store.tables.node_join_tokens.size >= LIMITS.joinTokensMax)
    return err(
      refusal(
        'too-many-join-tokens',
        `there are ${LIMITS.joinTokensMax} join tokens that have not expired: revoke some of them`,
      ),
    )
  const nowMs = clock.nowMs()
  const secret = ids.uuid()
  const row: NodeJoinTokenRow = {
    ID: ids.uuid(),
    NodeName,
    NodePool,
    CreatedBy: accessorId,
    CreateTime: isoFromMs(nowMs),
    ExpiresAt: isoFromMs(nowMs + ttlMs),
    UsedBy: '',
    UsedAt: null,
    SecretHash: sealer.hash(secret),
    CreateIndex: 0,
    ModifyIndex: 0,
  }
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [put('node_join_tokens', row)],
  })
  await durable
  return ok({
    ...nodeJoinTokenStub(row),
    SecretID: secret,
    CreateIndex: index,
    ModifyIndex: index,
  })
}

interface JoinTokenSettings {
  readonly ttlMs: number
  readonly NodeName: string
  readonly NodePool: string
}

function parseJoinTokenRequest(request: NodeJoinTokenRequest): Result<JoinTokenSettings, Refusal> {
  const { joinTokenTtlMsMin: min, joinTokenTtlMsMax: max, joinTokenTtlMsDefault } = LIMITS
  const ttlMs = request.TTL ? parseDurationMs(request.TTL) : joinTokenTtlMsDefault
  if (ttlMs === undefined || ttlMs < min || ttlMs > max)
    return invalidInput('TTL must be a duration from 1m to 24h, such as "30m"')
  const NodeName = request.NodeName ?? ''
  if (NodeName !== '' && !isNodeName(NodeName))
    return invalidInput('NodeName is no valid name of a node: letters, digits, ".", "_" and "-"')
  const NodePool = request.NodePool ?? ''
  if (NodePool !== '' && !isNodePoolName(NodePool))
    return invalidInput('NodePool is no valid name of a pool, or "all", which no node is in')
  return ok({ ttlMs, NodeName, NodePool })
}

/** Deletes a token. A node that has joined with it has its own secret and stays registered. */
export async function deleteJoinToken(
  { store }: WorkloadContext,
  { by }: Author,
  tokenId: string,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const id = checkUuid('join token', tokenId)
  if (!id.ok) return invalidInput(id.error)
  if (!store.tables.node_join_tokens.has(id.value)) return err(JOIN_TOKEN_NOT_FOUND)
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [remove('node_join_tokens', id.value)],
  })
  await durable
  return ok({ index })
}

/**
 * Replaces the shared join token. It is stored as a hash in the state, so that all servers of a
 * cluster use it at once and no configuration changes.
 */
export async function rotateSharedJoinToken(
  context: WorkloadContext,
  { by }: Author,
  request: SharedJoinTokenRequest,
): Promise<Result<SharedJoinToken, Refusal>> {
  const { store, sealer, ids, clock } = context
  const { sharedJoinTokenCharsMin: min, sharedJoinTokenCharsMax: max } = LIMITS
  const secret = request.SecretID || ids.uuid()
  if (secret.length < min || secret.length > max)
    return invalidInput(`SecretID must be text of ${min} to ${max} characters`)
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [
      put('settings', {
        Name: 'shared-join-token',
        SecretHash: sealer.hash(secret),
        RotatedAt: isoFromMs(clock.nowMs()),
        CreateIndex: 0,
        ModifyIndex: 0,
      }),
    ],
  })
  await durable
  const IsEnabled = context.nodeAdmission?.allowsSharedToken ?? true
  return ok({ SecretID: secret, IsEnabled, Index: index })
}

/** Proof of an unknown node: the shared token, or one of its own. */
export type JoinProof = 'shared' | NodeJoinTokenRow

/**
 * Checks the token of an unknown node. Returns the reason for refusing it, or the proof that admits
 * it.
 */
export function checkJoinToken(
  context: WorkloadContext,
  presentedToken: string | undefined,
): Result<JoinProof, Refusal> {
  const { store, sealer, clock } = context
  // Compared by hash, so that timing reveals nothing about the token.
  const hash = presentedToken === undefined ? undefined : sealer.hash(presentedToken)
  if (hash !== undefined && hash === sharedTokenHash(context)) {
    if (context.nodeAdmission?.allowsSharedToken ?? true) return ok('shared')
    return unknownNodeRefusal('the shared join token is turned off (server.shared_join_token)')
  }
  const { node_join_tokens: tokens } = store.tables
  const [id = ''] = hash === undefined ? [] : tokens.keysByIndex('secret', hash)
  const token = tokens.find(id)
  if (token === undefined) return unknownNodeRefusal('its join token is not valid')
  if (token.UsedBy !== '')
    return unknownNodeRefusal('its join token was used before, and admits one node only')
  if (Date.parse(token.ExpiresAt) <= clock.nowMs())
    return unknownNodeRefusal('its join token has expired')
  return ok(token)
}

function sharedTokenHash({ store, sealer, joinToken }: WorkloadContext): string {
  return findSetting(store.tables, 'shared-join-token')?.SecretHash ?? sealer.hash(joinToken)
}

/** Returns when the configured shared token was replaced; undefined if it is still valid. */
export function sharedTokenReplacedAt(context: WorkloadContext): string | undefined {
  const row = findSetting(context.store.tables, 'shared-join-token')
  const isSame = row?.SecretHash === context.sealer.hash(context.joinToken)
  return isSame ? undefined : row?.RotatedAt
}

function unknownNodeRefusal(reason: string): Result<never, Refusal> {
  const next =
    'create one with "reeve node join-token create" and give it to the node as join_token or ' +
    'REEVE_JOIN_TOKEN (docs/reference/configuration.md)'
  return err(refusal('permission-denied', `this node is unknown and ${reason}: ${next}`))
}
