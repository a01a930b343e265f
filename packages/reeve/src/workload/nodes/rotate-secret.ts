import type { NodeSecretRotation } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { withNodeEvent, type NodeRow, type Refusal } from '../../model/index.ts'
import { put, type Author, type CommitAuthor } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { NodeGateway } from './node-gateway.ts'
import { findNode } from './node-writes.ts'
import { checkRevocation } from './revoke.ts'

/** Maximum number of unconfirmed offers per node; further rotations wait. */
const PENDING_OFFERS_MAX = 4

export interface SecretRotation {
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
  const { index } = store
  await store.whenDurable()
  const nodeModifyIndex = store.tables.nodes.find(nodeId)?.ModifyIndex ?? 0
  return { status: 'pending', nodeModifyIndex, index }
}
