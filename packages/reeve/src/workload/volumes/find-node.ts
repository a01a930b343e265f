import { ALL_NODE_POOL, type HostVolumeRecord } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type PublicNode, type Refusal } from '../../model/index.ts'
import { placeVolume, volumeNodeCheck, type NodeVolumeUsage } from '../../scheduler/index.ts'
import type { WorkloadContext } from '../context.ts'
import { isPoolAllowed } from '../jobs/checks.ts'
import { NODE_POOL_NOT_FOUND } from '../node-pools.ts'
import { NODE_NOT_FOUND } from '../nodes/node-operations.ts'

/** Returns the requested node if it can host the volume, or the best node if none is requested. */
export function findVolumeNode(
  context: WorkloadContext,
  volume: HostVolumeRecord,
): Result<PublicNode, Refusal> {
  const { store } = context
  if (volume.NodePool !== '' && !store.tables.node_pools.has(volume.NodePool))
    return err(NODE_POOL_NOT_FOUND)
  return volume.NodeID === '' ? selectNode(context, volume) : requestedNode(context, volume)
}

function volumeNeighbours({ store, view }: WorkloadContext): NodeVolumeUsage {
  return {
    volumesOn: (nodeId) => store.tables.host_volumes.rowsByIndex('node', nodeId),
    usageOn: (nodeId) => view.usageOn(nodeId),
  }
}

function requestedNode(
  context: WorkloadContext,
  volume: HostVolumeRecord,
): Result<PublicNode, Refusal> {
  const node = context.store.tables.nodes.find(volume.NodeID)
  if (node === undefined) return err(NODE_NOT_FOUND)
  const reason = requestedNodeProblem(context, volume, node)
  return reason === undefined
    ? ok(node)
    : volumeNotPlaced(`volume cannot be placed on node ${node.ID}: ${reason}`)
}

function requestedNodeProblem(
  context: WorkloadContext,
  volume: HostVolumeRecord,
  node: PublicNode,
): string | undefined {
  if (volume.NodePool !== '' && node.NodePool !== volume.NodePool)
    return `it is in node pool "${node.NodePool}"`
  if (!isPoolAllowedFor(context, volume, node)) return forbiddenPoolText(node.NodePool, volume)
  if (node.Status !== 'ready') return `it is ${node.Status}`
  return volumeNodeCheck(volume, volumeNeighbours(context))(node)
}

function selectNode(
  context: WorkloadContext,
  volume: HostVolumeRecord,
): Result<PublicNode, Refusal> {
  const ready = context.view.readyNodes(volume.NodePool || ALL_NODE_POOL)
  const nodes = ready.filter((node) => isPoolAllowedFor(context, volume, node))
  if (ready.length > 0 && nodes.length === 0) return volumeNotPlaced(noAllowedPoolText(volume))
  const placement = placeVolume(nodes, volume, volumeNeighbours(context))
  if (placement.node !== undefined) return ok(placement.node)
  const reasons = [...placement.refused].map(([reason, count]) => `${reason} (${count})`)
  const why = reasons.length === 0 ? 'no node is ready' : `nodes refused: ${reasons.join(', ')}`
  return volumeNotPlaced(`volume could not be placed: ${why}`)
}

function isPoolAllowedFor(
  { store }: WorkloadContext,
  { Namespace }: HostVolumeRecord,
  { NodePool }: PublicNode,
): boolean {
  return isPoolAllowed(store.tables.namespaces.find(Namespace), NodePool)
}

function forbiddenPoolText(pool: string, { Namespace }: HostVolumeRecord): string {
  return `node pool "${pool}" is not allowed in namespace "${Namespace}"`
}

function noAllowedPoolText(volume: HostVolumeRecord): string {
  if (volume.NodePool !== '') return forbiddenPoolText(volume.NodePool, volume)
  return (
    `namespace "${volume.Namespace}" may not use the node pool of any ready node: ` +
    'allow one in its node_pool_config'
  )
}

function volumeNotPlaced(message: string): Result<never, Refusal> {
  return err(refusal('host-volume-unplaced', message))
}
