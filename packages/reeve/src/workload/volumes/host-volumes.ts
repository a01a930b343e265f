import {
  DEFAULT_NAMESPACE,
  type HostVolumeInput,
  type HostVolumeRecord,
  type MadeVolume,
  type NodeRequest,
  type TaskGroup,
  type VolumeOnNode,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  updateHostVolume,
  hostVolumeProblem,
  hostVolumeState,
  LIMITS,
  newHostVolume,
  PERMISSION_DENIED,
  refusal,
  type Refusal,
  type VolumeOrigin,
  allocationIndex,
  isClientTerminal,
  type AllocationRow,
  invalidInput,
} from '../../model/index.ts'
import {
  namespacedKey,
  put,
  remove,
  type Author,
  type CommitAuthor,
  type Tables,
  jobVersionKey,
} from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import type { NodeGateway } from '../nodes/node-gateway.ts'
import { findVolumeNode } from './find-node.ts'
import type { VolumeWriteQueue } from './volume-writes.ts'

export const HOST_VOLUME_NOT_FOUND: Refusal = refusal(
  'host-volume-not-found',
  'host volume not found',
)

export interface HostVolumeDeps {
  readonly context: WorkloadContext
  readonly gateway: NodeGateway
  readonly writeQueue: VolumeWriteQueue
  /** Sends a volume request to a node and validates the response. */
  requestVolume(
    nodeId: string,
    request: NodeRequest,
    deadlineMs: number,
  ): Promise<Result<MadeVolume, Refusal>>
}

/** Result of a volume write. */
interface VolumeWriteResult {
  readonly volume: HostVolumeRecord
  readonly index: number
}

/**
 * Creates a volume on a node, or registers an existing directory. With the ID of an existing
 * volume, updates it.
 */
export async function writeHostVolume(
  deps: HostVolumeDeps,
  caller: RequestCaller,
  { input, origin }: { readonly input: HostVolumeInput; readonly origin: VolumeOrigin },
): Promise<Result<VolumeWriteResult, Refusal>> {
  const capability = origin === 'created' ? 'host-volume-create' : 'host-volume-register'
  if (!caller.grants.allows(input.Namespace || DEFAULT_NAMESPACE, capability))
    return err(PERMISSION_DENIED)
  if (!input.ID) return await createVolume(deps, caller, { input, origin })
  const key = namespacedKey(input.Namespace || DEFAULT_NAMESPACE, input.ID)
  return await deps.writeQueue.run(key, () => updateVolume(deps, caller, { input, origin }))
}

interface VolumeWriteInput {
  readonly input: HostVolumeInput
  readonly origin: VolumeOrigin
}

/**
 * The volume is stored before the request to the node, so that it can be listed and deleted
 * whatever happens in between.
 */
async function createVolume(
  deps: HostVolumeDeps,
  { by }: Author,
  { input, origin }: VolumeWriteInput,
): Promise<Result<VolumeWriteResult, Refusal>> {
  const { context } = deps
  // No await from here to the commit: of two volumes with the same name on a node, only one is
  // stored.
  const planned = planNewVolume(context, input, origin)
  if (!planned.ok) return planned
  const { Namespace, ID } = planned.value
  const stored = storeVolume(context, by, planned.value)
  return await deps.writeQueue.run(namespacedKey(Namespace, ID), async () =>
    createOnNode(deps, await stored, origin),
  )
}

async function createOnNode(
  deps: HostVolumeDeps,
  stored: HostVolumeRecord,
  origin: VolumeOrigin,
): Promise<Result<VolumeWriteResult, Refusal>> {
  const { context } = deps
  const nodeResult = await requestOnNode(deps, stored, origin)
  if (nodeResult.ok) return await storeResult(context, 'system', stored, nodeResult.value)
  if (await leftNothingOnNode(deps, stored, nodeResult.error)) {
    await deletePlanned(context, stored)
    return nodeResult
  }
  const text = `${nodeResult.error.message}; ${leftOnNodeText(stored.ID)}`
  return err(refusal(nodeResult.error.code, text))
}

function leftOnNodeText(id: string): string {
  const request = `DELETE /v1/volume/host/${id}`
  return `volume ${id} may exist on the node and is still pending: delete it with ${request}`
}

/** True if the node rejected the creation or has undone it. */
async function leftNothingOnNode(
  { gateway }: HostVolumeDeps,
  volume: HostVolumeRecord,
  { code }: Refusal,
): Promise<boolean> {
  if (!UNKNOWN_OUTCOME_CODES.has(code)) return true
  const request = { verb: 'delete-volume', volume: volumeOnNode(volume) } as const
  return (await gateway.request(volume.NodeID, request, NODE_TIMEOUT_MS)).ok
}

/** Errors after which it is unknown whether the node has created the volume. */
const UNKNOWN_OUTCOME_CODES: ReadonlySet<string> = new Set<Refusal['code']>([
  'node-failed',
  'node-silent',
  'node-unreachable',
])

async function updateVolume(
  deps: HostVolumeDeps,
  { by }: Author,
  { input, origin }: VolumeWriteInput,
): Promise<Result<VolumeWriteResult, Refusal>> {
  const { context } = deps
  const changed = planChange(context, input, origin)
  if (!changed.ok) return changed
  const nodeResult = await requestOnNode(deps, changed.value, origin)
  if (!nodeResult.ok) return nodeResult
  return await storeResult(context, by, changed.value, nodeResult.value)
}

/**
 * Returns the volume with the path and size that the node reports; a registered volume keeps its
 * registered size.
 */
function withNodeResult(volume: HostVolumeRecord, { path, bytes }: MadeVolume): HostVolumeRecord {
  const CapacityBytes = volume.PluginID === '' ? volume.CapacityBytes : bytes
  return { ...volume, HostPath: path, CapacityBytes }
}

/** Returns the volume with this ID, changed by the request. */
function planChange(
  { store }: WorkloadContext,
  input: HostVolumeInput,
  origin: VolumeOrigin,
): Result<HostVolumeRecord, Refusal> {
  const key = namespacedKey(input.Namespace || DEFAULT_NAMESPACE, input.ID ?? '')
  const existing = store.tables.host_volumes.find(key)
  if (existing === undefined) return err(HOST_VOLUME_NOT_FOUND)
  if ((existing.PluginID === '') !== (origin === 'registered'))
    return invalidInput(
      existing.PluginID === ''
        ? `volume ${existing.ID} is a registered directory: change it with /v1/volume/host/register`
        : `volume ${existing.ID} was created by a plugin: change it with /v1/volume/host/create`,
    )
  const changed = updateHostVolume(existing, input)
  if (typeof changed === 'string') return invalidInput(changed)
  const problem = hostVolumeProblem(changed)
  return problem === undefined ? ok(changed) : invalidInput(problem)
}

function planNewVolume(
  context: WorkloadContext,
  input: HostVolumeInput,
  origin: VolumeOrigin,
): Result<HostVolumeRecord, Refusal> {
  const { tables } = context.store
  const volume = newHostVolume(input, { id: context.ids.uuid(), origin })
  const problem = hostVolumeProblem(volume) ?? originProblem(volume, origin)
  if (problem !== undefined) return invalidInput(problem)
  if (!tables.namespaces.has(volume.Namespace))
    return err(
      refusal('unknown-namespace', `volume is in nonexistent namespace "${volume.Namespace}"`),
    )
  if (tables.host_volumes.size >= LIMITS.hostVolumesMax)
    return invalidInput(
      `the limit of ${LIMITS.hostVolumesMax} host volumes is reached: delete unused volumes`,
    )
  const node = findVolumeNode(context, volume)
  return node.ok ? ok({ ...volume, NodeID: node.value.ID, NodePool: node.value.NodePool }) : node
}

function originProblem(
  { NodeID, HostPath }: HostVolumeRecord,
  origin: VolumeOrigin,
): string | undefined {
  if (origin === 'created') return undefined
  if (NodeID === '') return 'NodeID must name the node that has the directory'
  return HostPath === '' ? 'HostPath must name the directory' : undefined
}

async function storeVolume(
  { store }: WorkloadContext,
  by: CommitAuthor,
  volume: HostVolumeRecord,
): Promise<HostVolumeRecord> {
  const { index, durable } = store.commit({
    by,
    cause: 'HostVolumeRegistered',
    changes: ({ timeMs }) => {
      const now = nsFromMs(timeMs)
      const CreateTime = volume.CreateTime === 0 ? now : volume.CreateTime
      return [put('host_volumes', { ...volume, CreateTime, ModifyTime: now })]
    },
  })
  await durable
  const key = namespacedKey(volume.Namespace, volume.ID)
  return store.tables.host_volumes.find(key) ?? { ...volume, ModifyIndex: index }
}

async function requestOnNode(
  deps: HostVolumeDeps,
  volume: HostVolumeRecord,
  origin: VolumeOrigin,
): Promise<Result<MadeVolume, Refusal>> {
  const verb = origin === 'created' ? 'create-volume' : 'register-volume'
  const request = { verb, volume: volumeOnNode(volume) } as const
  const nodeResult = await deps.requestVolume(volume.NodeID, request, NODE_TIMEOUT_MS)
  if (nodeResult.ok && nodeResult.value.path.length > LIMITS.hostVolumePathCharsMax)
    return err(
      refusal(
        'node-failed',
        `node returned a path longer than ${LIMITS.hostVolumePathCharsMax} characters`,
      ),
    )
  return nodeResult
}

/** The plugin has its own deadline on the node; the server waits a little longer. */
const NODE_TIMEOUT_MS = LIMITS.volumePluginTimeoutMs + 5_000

function volumeOnNode(volume: HostVolumeRecord): VolumeOnNode {
  return {
    id: volume.ID,
    name: volume.Name,
    namespace: volume.Namespace,
    plugin: volume.PluginID,
    nodePool: volume.NodePool,
    capacityMinBytes: volume.RequestedCapacityMinBytes,
    capacityMaxBytes: volume.RequestedCapacityMaxBytes,
    parameters: volume.Parameters ?? {},
    path: volume.HostPath,
  }
}

/**
 * Stores a volume with the requested properties, the node's result and its current state. Meanwhile
 * only the node may have changed it, or garbage collection deleted it.
 */
async function storeResult(
  context: WorkloadContext,
  by: CommitAuthor,
  requested: HostVolumeRecord,
  made: MadeVolume,
): Promise<Result<VolumeWriteResult, Refusal>> {
  const { tables } = context.store
  if (!tables.host_volumes.has(namespacedKey(requested.Namespace, requested.ID)))
    return err(refusal('host-volume-changed', 'the volume was removed while its node worked on it'))
  const State = hostVolumeState(requested, tables.nodes.find(requested.NodeID))
  const volume = await storeVolume(context, by, { ...withNodeResult(requested, made), State })
  return ok({ volume, index: volume.ModifyIndex })
}

/** Deletes a new volume that the node could not create. */
async function deletePlanned({ store }: WorkloadContext, volume: HostVolumeRecord): Promise<void> {
  const key = namespacedKey(volume.Namespace, volume.ID)
  if (store.tables.host_volumes.find(key)?.CreateIndex !== volume.CreateIndex) return
  const { durable } = store.commit({
    by: 'system',
    cause: 'HostVolumeDeleted',
    changes: () => [remove('host_volumes', key)],
  })
  await durable
}

interface VolumeDeletion {
  readonly namespace: string
  readonly id: string
  /** Whether to delete the volume even if its node is unreachable. */
  readonly force: boolean
}

/** Deletes a volume that nothing mounts, first on its node. */
export async function deleteHostVolume(
  deps: HostVolumeDeps,
  caller: RequestCaller,
  deletion: VolumeDeletion,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const { namespace, id } = deletion
  if (!caller.grants.allows(namespace, 'host-volume-delete')) return err(PERMISSION_DENIED)
  return await deps.writeQueue.run(namespacedKey(namespace, id), () =>
    removeVolume(deps, caller, deletion),
  )
}

async function removeVolume(
  { context, gateway }: HostVolumeDeps,
  caller: RequestCaller,
  { namespace, id, force }: VolumeDeletion,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const { store } = context
  const key = namespacedKey(namespace, id)
  const volume = store.tables.host_volumes.find(key)
  if (volume === undefined) return err(HOST_VOLUME_NOT_FOUND)
  const [mounter] = mountingAllocations(store.tables, volume)
  if (mounter !== undefined)
    return err(
      refusal(
        'host-volume-in-use',
        `volume ${id} is mounted by allocation ${mounter.ID}: stop it first`,
      ),
    )
  // The volume accepts no new allocations, unless the node re-registers before it deletes the
  // volume.
  const closed = await storeVolume(context, caller.by, { ...volume, State: 'unavailable' })
  const gone = await deleteOnNode(gateway, store.tables, closed)
  if (!gone.ok && !force) {
    await makeAvailableAgain(context, closed)
    return gone
  }
  const { index, durable } = store.commit({
    by: 'system',
    cause: 'HostVolumeDeleted',
    changes: () => (store.tables.host_volumes.has(key) ? [remove('host_volumes', key)] : []),
  })
  await durable
  return ok({ index })
}

async function deleteOnNode(
  gateway: NodeGateway,
  { nodes }: Pick<Tables, 'nodes'>,
  volume: HostVolumeRecord,
): Promise<Result<unknown, Refusal>> {
  if (!nodes.has(volume.NodeID))
    return err(
      refusal(
        'node-not-found',
        `node ${volume.NodeID} no longer exists: delete the volume with force`,
      ),
    )
  const request = { verb: 'delete-volume', volume: volumeOnNode(volume) } as const
  return await gateway.request(volume.NodeID, request, NODE_TIMEOUT_MS)
}

/** Makes a volume available again that could not be deleted. */
async function makeAvailableAgain(
  context: WorkloadContext,
  closed: HostVolumeRecord,
): Promise<void> {
  const { tables } = context.store
  const existing = tables.host_volumes.find(namespacedKey(closed.Namespace, closed.ID))
  if (existing === undefined) return
  const State = hostVolumeState(existing, tables.nodes.find(existing.NodeID))
  if (State !== existing.State) await storeVolume(context, 'system', { ...existing, State })
}

/** Live allocations that mount a dynamic host volume. */
export function mountingAllocations(
  { allocations, job_versions: versions }: Pick<Tables, 'allocations' | 'job_versions'>,
  volume: Pick<HostVolumeRecord, 'Namespace' | 'NodeID' | 'Name'>,
): readonly AllocationRow[] {
  return allocations.rowsByIndex('node', volume.NodeID).filter((row) => {
    if (row.Namespace !== volume.Namespace || isClientTerminal(row)) return false
    const job = versions.find(jobVersionKey(row.Namespace, row.JobID, row.JobVersion))
    const group = job?.TaskGroups.find(({ Name }) => Name === row.TaskGroup)
    return group !== undefined && mountsVolume(group, row, volume.Name)
  })
}

function mountsVolume({ Volumes }: TaskGroup, row: AllocationRow, name: string): boolean {
  return Object.values(Volumes ?? {}).some(({ Type, Source, PerAlloc }) => {
    if (Type !== 'host') return false
    return name === (PerAlloc ? `${Source}[${allocationIndex(row.Name)}]` : Source)
  })
}
