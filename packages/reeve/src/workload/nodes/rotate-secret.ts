import type { NodeSecretRotation } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { withNodeEvent, type NodeRow, type Refusal } from '../../model/index.ts'
import { put, type Author, type CommitAuthor } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { NodeGateway } from './node-gateway.ts'
import { findNode } from './node-writes.ts'
import { revocationRefusal } from './revoke.ts'

/** Offers of one node that may be without an answer; another rotation waits for these. */
const OFFERS_MAX = 4

export interface SecretRotation {
  readonly status: NodeSecretRotation
  readonly nodeModifyIndex: number
  readonly index: number
}

/**
 * Gives a node a new secret over its channel. The old one stays valid until the node has confirmed
 * the new one, or has used it: whatever is lost in between, the node can prove itself.
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
  const revoked = revocationRefusal(context.store.tables, { nodeId: ID, secretHash })
  if (revoked !== undefined) return err(revoked)
  if (offered.length >= OFFERS_MAX) return ok(await pending(context, ID))
  return await offerSecret(context, gateway, { by, nodeId: ID, earlier: offered })
}

/**
 * Offers a new secret to a node that has connected with its old one while a rotation was pending.
 * The agent stores an offer before it connects again, so offers before this one are void.
 */
export async function resumeRotation(
  context: WorkloadContext,
  gateway: NodeGateway,
  nodeId: string,
): Promise<void> {
  const node = context.store.tables.nodes.find(nodeId)
  if ((node?.NextSecretHashes ?? []).length === 0) return
  await offerSecret(context, gateway, { by: 'system', nodeId, earlier: [] })
}

interface Offer extends Author {
  readonly nodeId: string
  /** Offers that the node may have stored. */
  readonly earlier: readonly string[]
}

async function offerSecret(
  context: WorkloadContext,
  gateway: NodeGateway,
  { by, nodeId, earlier }: Offer,
): Promise<Result<SecretRotation, Refusal>> {
  const { sealer, ids, store } = context
  const secret = ids.uuid()
  const hash = sealer.hash(secret)
  await writeNode(context, by, nodeId, (node) => ({
    ...node,
    NextSecretHashes: [...earlier, hash],
  }))
  const reply = await gateway.request(nodeId, { verb: 'rotate-secret', secret })
  if (reply.ok) {
    await confirmSecret(context, nodeId, hash)
    return ok({ ...(await pending(context, nodeId)), status: 'rotated' })
  }
  const isAway = reply.error.code === 'node-unreachable' || reply.error.code === 'node-silent'
  if (isAway && store.tables.nodes.has(nodeId)) return ok(await pending(context, nodeId))
  return err(reply.error)
}

async function confirmSecret(
  context: WorkloadContext,
  nodeId: string,
  hash: string,
): Promise<void> {
  const event = { subsystem: 'Cluster', message: 'Node secret rotated' } as const
  // The record is in the commit of the offer.
  await writeNode(context, 'system', nodeId, (node, stamp) => {
    const { NextSecretHashes: offered = [], ...rest } = node
    const at = offered.indexOf(hash)
    // Purged, or confirmed by a later one, meanwhile.
    if (at === -1) return node
    const later = offered.slice(at + 1)
    return {
      ...rest,
      SecretHash: hash,
      ...(later.length === 0 ? {} : { NextSecretHashes: later }),
      Events: withNodeEvent(node.Events, event, stamp),
    }
  })
}

type Stamped = { readonly index: number; readonly timeMs: number }

async function writeNode(
  { store }: WorkloadContext,
  by: CommitAuthor,
  nodeId: string,
  change: (node: NodeRow, stamp: Stamped) => NodeRow,
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

async function pending({ store }: WorkloadContext, nodeId: string): Promise<SecretRotation> {
  const { index } = store
  await store.settled()
  const nodeModifyIndex = store.tables.nodes.find(nodeId)?.ModifyIndex ?? 0
  return { status: 'pending', nodeModifyIndex, index }
}
