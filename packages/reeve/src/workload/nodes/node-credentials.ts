import type { NodeRevokeRequest, NodeSecretRotation } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  checkUuid,
  LIMITS,
  refusal,
  withNodeEvent,
  type NodeRevocationRow,
  type NodeRow,
  type Refusal,
  invalidInput,
} from '../../model/index.ts'
import {
  put,
  remove,
  type Author,
  type Stamp,
  type Tables,
  type CommitAuthor,
} from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import type { NodeGateway } from './node-gateway.ts'
import { commitNode, findNode, unchangedNode, type NodeWriteResult } from './node-operations.ts'

/**
 * Revokes a node. One commit marks it down, evaluates its jobs as for a lost node, and rejects its
 * identity from then on. The revocation is a separate row that outlives the node. Sessions close
 * the connections of the node when the commit is durable.
 */
export async function revokeNode(
  context: WorkloadContext,
  caller: RequestCaller,
  { nodeId, body }: { readonly nodeId: string; readonly body: NodeRevokeRequest },
): Promise<Result<NodeWriteResult, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const reason = parseReason(body.Reason ?? '')
  if (!reason.ok) return reason
  const node = found.value
  const { node_revocations: revocations } = context.store.tables
  if (revocations.has(node.ID)) return ok(await unchangedNode(context, node))
  if (revocations.size >= LIMITS.nodeRevocationsMax)
    return invalidInput(
      `${LIMITS.nodeRevocationsMax} nodes are revoked: undo some of the revocations`,
    )
  const revocation: NodeRevocationRow = {
    NodeID: node.ID,
    NodeName: node.Name,
    Reason: reason.value,
    RevokedBy: caller.accessorId,
    RevokeTime: isoFromMs(context.clock.nowMs()),
    SecretHash: node.SecretHash,
    CreateIndex: 0,
    ModifyIndex: 0,
  }
  return ok(
    await commitNode(context, caller, {
      node,
      cause: 'NodeRevocation',
      next: (stamp) => withRevocation(node, reason.value, stamp),
      createsEvaluations: true,
      extraChanges: [put('node_revocations', revocation)],
    }),
  )
}

function withRevocation(node: NodeRow, reason: string, stamp: Stamp): NodeRow {
  const details = reason === '' ? {} : { details: { reason } }
  const event = { subsystem: 'Cluster', message: 'Node revoked', ...details } as const
  return {
    ...node,
    Status: 'down',
    StatusDescription: reason === '' ? 'revoked' : `revoked: ${reason}`,
    StatusUpdatedAt: Math.floor(stamp.timeMs / 1000),
    Events: withNodeEvent(node.Events, event, stamp),
  }
}

function parseReason(text: string): Result<string, Refusal> {
  const max = LIMITS.revokeReasonCharsMax
  return text.length <= max && /^\P{Cc}*$/u.test(text)
    ? ok(text)
    : invalidInput(`Reason must be at most ${max} characters in one line`)
}

/** Undoes a revocation. The node reconnects with its secret, or joins again if it was purged. */
export async function unrevokeNode(
  { store }: WorkloadContext,
  { by }: Author,
  nodeId: string,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const id = checkUuid('node', nodeId)
  if (!id.ok) return invalidInput(id.error)
  if (!store.tables.node_revocations.has(id.value))
    return err(refusal('revocation-not-found', 'node is not revoked'))
  const node = store.tables.nodes.find(id.value)
  const event = { subsystem: 'Cluster', message: 'Node revocation undone' } as const
  const { index, durable } = store.commit({
    by,
    cause: 'NodeEvent',
    changes: (stamp) => [
      remove('node_revocations', id.value),
      ...(node === undefined
        ? []
        : [
            put('nodes', {
              ...node,
              StatusDescription: '',
              Events: withNodeEvent(node.Events, event, stamp),
            }),
          ]),
    ],
  })
  await durable
  return ok({ index })
}

/**
 * Returns the refusal of a revoked node, found by its ID or secret; undefined if it is not revoked.
 */
export function checkRevocation(
  { node_revocations: revocations }: Pick<Tables, 'node_revocations'>,
  { nodeId, secretHash }: { readonly nodeId: string; readonly secretHash: string },
): Refusal | undefined {
  const [bySecret = ''] = revocations.keysByIndex('secret', secretHash)
  const row = revocations.find(nodeId) ?? revocations.find(bySecret)
  if (row === undefined) return undefined
  return refusal(
    'node-revoked',
    `node ${row.NodeID} was revoked at ${row.RevokeTime}: an operator can undo it with ` +
      `"reeve node unrevoke ${row.NodeID}"`,
  )
}

/** Maximum number of unconfirmed offers per node; further rotations wait. */
const PENDING_OFFERS_MAX = 4

interface SecretRotation {
  readonly status: NodeSecretRotation
  readonly nodeModifyIndex: number
  readonly index: number
}

/**
 * Sends a node a new secret over its channel. The old one stays valid until the node has confirmed
 * or used the new one, so that a lost message never locks it out.
 */
export async function rotateNodeSecret(
  context: WorkloadContext,
  gateway: NodeGateway,
  { by }: Author,
  nodeId: string,
): Promise<Result<SecretRotation, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const { ID, SecretHash: secretHash, NextSecretHashes: offered = [] } = found.value
  const revoked = checkRevocation(context.store.tables, { nodeId: ID, secretHash })
  if (revoked !== undefined) return err(revoked)
  if (offered.length >= PENDING_OFFERS_MAX) return ok(await pendingRotation(context, ID))
  return await offerSecret(context, gateway, { by, nodeId: ID, pendingHashes: offered })
}

/**
 * Offers a new secret to a node that reconnected with its old one during a rotation. The agent
 * stores an offer before it reconnects, so earlier offers are invalid.
 */
export async function resumeRotation(
  context: WorkloadContext,
  gateway: NodeGateway,
  nodeId: string,
): Promise<void> {
  const node = context.store.tables.nodes.find(nodeId)
  if ((node?.NextSecretHashes ?? []).length === 0) return
  await offerSecret(context, gateway, { by: 'system', nodeId, pendingHashes: [] })
}

interface SecretOffer extends Author {
  readonly nodeId: string
  /** Hashes of offers that the node may have stored. */
  readonly pendingHashes: readonly string[]
}

async function offerSecret(
  context: WorkloadContext,
  gateway: NodeGateway,
  { by, nodeId, pendingHashes }: SecretOffer,
): Promise<Result<SecretRotation, Refusal>> {
  const { sealer, ids, store } = context
  const secret = ids.uuid()
  const hash = sealer.hash(secret)
  await writeNode(context, by, nodeId, (node) => ({
    ...node,
    NextSecretHashes: [...pendingHashes, hash],
  }))
  const reply = await gateway.request(nodeId, { verb: 'rotate-secret', secret })
  if (reply.ok) {
    await confirmSecret(context, nodeId, hash)
    return ok({ ...(await pendingRotation(context, nodeId)), status: 'rotated' })
  }
  const isUnreachable =
    reply.error.code === 'node-unreachable' || reply.error.code === 'node-silent'
  if (isUnreachable && store.tables.nodes.has(nodeId))
    return ok(await pendingRotation(context, nodeId))
  return err(reply.error)
}

async function confirmSecret(
  context: WorkloadContext,
  nodeId: string,
  hash: string,
): Promise<void> {
  const event = { subsystem: 'Cluster', message: 'Node secret rotated' } as const
  // The audit record belongs to the commit of the offer.
  await writeNode(context, 'system', nodeId, (node, stamp) => {
    const { NextSecretHashes: offered = [], ...rest } = node
    const offerIndex = offered.indexOf(hash)
    // The node was purged, or a later offer was confirmed meanwhile.
    if (offerIndex === -1) return node
    const laterHashes = offered.slice(offerIndex + 1)
    return {
      ...rest,
      SecretHash: hash,
      ...(laterHashes.length === 0 ? {} : { NextSecretHashes: laterHashes }),
      Events: withNodeEvent(node.Events, event, stamp),
    }
  })
}

type CommitStamp = { readonly index: number; readonly timeMs: number }

async function writeNode(
  { store }: WorkloadContext,
  by: CommitAuthor,
  nodeId: string,
  change: (node: NodeRow, stamp: CommitStamp) => NodeRow,
): Promise<void> {
  const node = store.tables.nodes.find(nodeId)
  if (node === undefined) return
  const { durable } = store.commit({
    by,
    cause: 'NodeEvent',
    changes: (stamp) => [put('nodes', change(node, stamp))],
  })
  await durable
}

async function pendingRotation(
  { store }: WorkloadContext,
  nodeId: string,
): Promise<SecretRotation> {
  const index = await store.settledIndex()
  const nodeModifyIndex = store.tables.nodes.find(nodeId)?.ModifyIndex ?? 0
  return { status: 'pending', nodeModifyIndex, index }
}
