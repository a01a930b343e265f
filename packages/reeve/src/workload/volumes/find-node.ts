import { ALL_NODE_POOL, type HostVolumeRecord } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type PublicNode, type Refusal } from '../../model/index.ts'
import { placeVolume, volumeNodeCheck, type VolumeNeighbours } from '../../scheduler/index.ts'
import type { WorkloadContext } from '../context.ts'
import { isPoolAllowed } from '../jobs/namespace-rules.ts'
import { NODE_POOL_NOT_FOUND } from '../node-pools.ts'
import { NODE_NOT_FOUND } from '../nodes/node-writes.ts'

/** Returns the requested node if it can host the volume, or the best node if none is requested. */
export function findVolumeNode(
  context: WorkloadContext,
  volume: HostVolumeRecord,
): Result<PublicNode, Refusal> {
  const { store } = context
  if (volume.NodePool !== '' && !store.tables.node_pools.has(volume.NodePool))
    return err(NODE_POOL_NOT_FOUND)
  return volume.NodeID === '' ? chooseNode(context, volume) : namedNode(context, volume)
}

function neighboursIn({ store, view }: WorkloadContext): VolumeNeighbours {
  return {
    volumesOn: (nodeId) => store.tables.host_volumes.rowsIn('node', nodeId),
    usageOn: (nodeId) => view.usageOn(nodeId),
  }
}

function namedNode(
  context: WorkloadContext,
  volume: HostVolumeRecord,
): Result<PublicNode, Refusal> {
  const node = context.store.tables.nodes.find(volume.NodeID)
  if (node === undefined) return err(NODE_NOT_FOUND)
  const reason = namedProblem(context, volume, node)
  return reason === undefined
    ? ok(node)
    : unplaced(`volume cannot be placed on node ${node.ID}: ${reason}`)
}

function namedProblem(
  context: WorkloadContext,
  volume: HostVolumeRecord,
  node: PublicNode,
): string | undefined {
  if (volume.NodePool !== '' && node.NodePool !== volume.NodePool)
    return `it is in node pool "${node.NodePool}"`
  if (!isAllowedPool(context, volume, node)) return poolText(node.NodePool, volume)
  if (node.Status !== 'ready') return `it is ${node.Status}`
  return volumeNodeCheck(volume, neighboursIn(context))(node)
}

function chooseNode(
  context: WorkloadContext,
  volume: HostVolumeRecord,
): Result<PublicNode, Refusal> {
  const ready = context.view.readyNodes(volume.NodePool || ALL_NODE_POOL)
  const nodes = ready.filter((node) => isAllowedPool(context, volume, node))
  if (ready.length > 0 && nodes.length === 0) return unplaced(noPoolText(volume))
  const placement = placeVolume(nodes, volume, neighboursIn(context))
  if (placement.node !== undefined) return ok(placement.node)
  const reasons = [...placement.refused].map(([reason, count]) => `${reason} (${count})`)
  const why = reasons.length === 0 ? 'no node is ready' : `nodes refused: ${reasons.join(', ')}`
  return unplaced(`volume could not be placed: ${why}`)
}

function isAllowedPool(
  { store }: WorkloadContext,
  { Namespace }: HostVolumeRecord,
  { NodePool }: PublicNode,
): boolean {
  return isPoolAllowed(store.tables.namespaces.find(Namespace), NodePool)
}

function poolText(pool: string, { Namespace }: HostVolumeRecord): string {
  return `node pool "${pool}" is not allowed in namespace "${Namespace}"`
}

function noPoolText(volume: HostVolumeRecord): string {
  if (volume.NodePool !== '') return poolText(volume.NodePool, volume)
  return (
    `namespace "${volume.Namespace}" may not use the node pool of any ready node: ` +
    'allow one in its node_pool_config'
  )
}

function unplaced(message: string): Result<never, Refusal> {
  return err(refusal('host-volume-unplaced', message))
}
