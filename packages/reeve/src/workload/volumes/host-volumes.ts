import {
  DEFAULT_NAMESPACE,
  type HostVolumeInput,
  type HostVolumeRecord,
  type MadeVolume,
  type NodeRequest,
  type VolumeOnNode,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  changedHostVolume,
  hostVolumeProblem,
  hostVolumeState,
  LIMITS,
  newHostVolume,
  PERMISSION_DENIED,
  refusal,
  type Refusal,
  type VolumeOrigin,
} from '../../model/index.ts'
import {
  namespacedKey,
  put,
  remove,
  type Author,
  type CommitAuthor,
  type Tables,
} from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import type { NodeGateway } from '../nodes/node-gateway.ts'
import { findVolumeNode } from './find-node.ts'
import { mountersOf } from './mounters.ts'
import type { VolumeWrites } from './volume-writes.ts'

export const HOST_VOLUME_NOT_FOUND: Refusal = refusal(
  'host-volume-not-found',
  'host volume not found',
)

export interface VolumeHost {
  readonly context: WorkloadContext
  readonly gateway: NodeGateway
  readonly writes: VolumeWrites
  /** What a node says of a volume that it was asked to make, held against its shape. */
  askMade(
    nodeId: string,
    request: NodeRequest,
    deadlineMs: number,
  ): Promise<Result<MadeVolume, Refusal>>
}

/** A volume as it is after a write. */
export interface VolumeWritten {
  readonly volume: HostVolumeRecord
  readonly index: number
}

/**
 * Creates a volume on a node, or registers an existing directory. With the ID of an existing
 * volume, updates it.
 */
export async function writeHostVolume(
  host: VolumeHost,
  caller: RequestCaller,
  { input, origin }: { readonly input: HostVolumeInput; readonly origin: VolumeOrigin },
): Promise<Result<VolumeWritten, Refusal>> {
  const capability = origin === 'created' ? 'host-volume-create' : 'host-volume-register'
  if (!caller.grants.allows(input.Namespace || DEFAULT_NAMESPACE, capability))
    return err(PERMISSION_DENIED)
  if (!input.ID) return await add(host, caller, { input, origin })
  const key = namespacedKey(input.Namespace || DEFAULT_NAMESPACE, input.ID)
  return await host.writes.run(key, () => change(host, caller, { input, origin }))
}

interface Write {
  readonly input: HostVolumeInput
  readonly origin: VolumeOrigin
}

/**
 * The volume is stored before the request to the node, so that it can be listed and deleted
 * whatever happens in between.
 */
async function add(
  host: VolumeHost,
  { by }: Author,
  { input, origin }: Write,
): Promise<Result<VolumeWritten, Refusal>> {
  const { context } = host
  // From here to the commit nothing waits: of two volumes with one name on a node, one is stored.
  const planned = planNew(context, input, origin)
  if (!planned.ok) return planned
  const { Namespace, ID } = planned.value
  const stored = storeVolume(context, by, planned.value)
  return await host.writes.run(namespacedKey(Namespace, ID), async () =>
    makeOnNode(host, await stored, origin),
  )
}

async function makeOnNode(
  host: VolumeHost,
  stored: HostVolumeRecord,
  origin: VolumeOrigin,
): Promise<Result<VolumeWritten, Refusal>> {
  const { context } = host
  const made = await askNode(host, stored, origin)
  if (made.ok) return await settle(context, 'system', stored, made.value)
  if (await isWithoutTrace(host, stored, made.error)) {
    await forget(context, stored)
    return made
  }
  const text = `${made.error.message}; ${leftText(stored.ID)}`
  return err(refusal(made.error.code, text))
}

function leftText(id: string): string {
  const request = `DELETE /v1/volume/host/${id}`
  return `volume ${id} may exist on the node and is still pending: delete it with ${request}`
}

/** Whether the node has refused, or has undone, what may have been made. */
async function isWithoutTrace(
  { gateway }: VolumeHost,
  volume: HostVolumeRecord,
  { code }: Refusal,
): Promise<boolean> {
  if (!IN_DOUBT.has(code)) return true
  const request = { verb: 'delete-volume', volume: volumeOnNode(volume) } as const
  return (await gateway.request(volume.NodeID, request, NODE_MS_MAX)).ok
}

/** Errors after which it is unknown whether the node has created the volume. */
const IN_DOUBT: ReadonlySet<string> = new Set<Refusal['code']>([
  'node-failed',
  'node-silent',
  'node-unreachable',
])

async function change(
  host: VolumeHost,
  { by }: Author,
  { input, origin }: Write,
): Promise<Result<VolumeWritten, Refusal>> {
  const { context } = host
  const changed = changeOf(context, input, origin)
  if (!changed.ok) return changed
  const made = await askNode(host, changed.value, origin)
  if (!made.ok) return made
  return await settle(context, by, changed.value, made.value)
}

/**
 * Returns the volume with the path and size that the node reports; a registered volume keeps its
 * registered size.
 */
function withMade(volume: HostVolumeRecord, { path, bytes }: MadeVolume): HostVolumeRecord {
  const CapacityBytes = volume.PluginID === '' ? volume.CapacityBytes : bytes
  return { ...volume, HostPath: path, CapacityBytes }
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}

/** A volume of this ID as the request changes it. */
function changeOf(
  { store }: WorkloadContext,
  input: HostVolumeInput,
  origin: VolumeOrigin,
): Result<HostVolumeRecord, Refusal> {
  const key = namespacedKey(input.Namespace || DEFAULT_NAMESPACE, input.ID ?? '')
  const known = store.tables.host_volumes.find(key)
  if (known === undefined) return err(HOST_VOLUME_NOT_FOUND)
  if ((known.PluginID === '') !== (origin === 'registered'))
    return invalid(
      known.PluginID === ''
        ? `volume ${known.ID} is a registered directory: change it with /v1/volume/host/register`
        : `volume ${known.ID} was created by a plugin: change it with /v1/volume/host/create`,
    )
  const changed = changedHostVolume(known, input)
  if (typeof changed === 'string') return invalid(changed)
  const problem = hostVolumeProblem(changed)
  return problem === undefined ? ok(changed) : invalid(problem)
}

function planNew(
  context: WorkloadContext,
  input: HostVolumeInput,
  origin: VolumeOrigin,
): Result<HostVolumeRecord, Refusal> {
  const { tables } = context.store
  const volume = newHostVolume(input, { id: context.ids.uuid(), origin })
  const problem = hostVolumeProblem(volume) ?? originProblem(volume, origin)
  if (problem !== undefined) return invalid(problem)
  if (!tables.namespaces.has(volume.Namespace))
    return err(
      refusal('unknown-namespace', `volume is in nonexistent namespace "${volume.Namespace}"`),
    )
  if (tables.host_volumes.size >= LIMITS.hostVolumesMax)
    return invalid(
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

async function askNode(
  host: VolumeHost,
  volume: HostVolumeRecord,
  origin: VolumeOrigin,
): Promise<Result<MadeVolume, Refusal>> {
  const verb = origin === 'created' ? 'create-volume' : 'register-volume'
  const request = { verb, volume: volumeOnNode(volume) } as const
  const made = await host.askMade(volume.NodeID, request, NODE_MS_MAX)
  if (made.ok && made.value.path.length > LIMITS.hostVolumePathCharsMax)
    return err(
      refusal(
        'node-failed',
        `node returned a path longer than ${LIMITS.hostVolumePathCharsMax} characters`,
      ),
    )
  return made
}

/** The plugin has its own deadline on the node; the server waits a little longer. */
const NODE_MS_MAX = LIMITS.volumePluginMsMax + 5_000

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
 * Stores a volume as it was requested and made, with its state as it is now. Only the volume's node
 * can have changed it meanwhile, or garbage collection removed it.
 */
async function settle(
  context: WorkloadContext,
  by: CommitAuthor,
  requested: HostVolumeRecord,
  made: MadeVolume,
): Promise<Result<VolumeWritten, Refusal>> {
  const { tables } = context.store
  if (!tables.host_volumes.has(namespacedKey(requested.Namespace, requested.ID)))
    return err(refusal('host-volume-changed', 'the volume was removed while its node worked on it'))
  const State = hostVolumeState(requested, tables.nodes.find(requested.NodeID))
  const volume = await storeVolume(context, by, { ...withMade(requested, made), State })
  return ok({ volume, index: volume.ModifyIndex })
}

/** A new volume that its node could not make. */
async function forget({ store }: WorkloadContext, volume: HostVolumeRecord): Promise<void> {
  const key = namespacedKey(volume.Namespace, volume.ID)
  if (store.tables.host_volumes.find(key)?.CreateIndex !== volume.CreateIndex) return
  const { durable } = store.commit({
    by: 'system',
    cause: 'HostVolumeDeleted',
    changes: () => [remove('host_volumes', key)],
  })
  await durable
}

export interface VolumeDeletion {
  readonly namespace: string
  readonly id: string
  /** Whether to delete the volume even if its node is unreachable. */
  readonly force: boolean
}

/** Deletes a volume that nothing mounts, first on its node. */
export async function deleteHostVolume(
  host: VolumeHost,
  caller: RequestCaller,
  deletion: VolumeDeletion,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const { namespace, id } = deletion
  if (!caller.grants.allows(namespace, 'host-volume-delete')) return err(PERMISSION_DENIED)
  return await host.writes.run(namespacedKey(namespace, id), () =>
    removeVolume(host, caller, deletion),
  )
}

async function removeVolume(
  { context, gateway }: VolumeHost,
  caller: RequestCaller,
  { namespace, id, force }: VolumeDeletion,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const { store } = context
  const key = namespacedKey(namespace, id)
  const volume = store.tables.host_volumes.find(key)
  if (volume === undefined) return err(HOST_VOLUME_NOT_FOUND)
  const [mounter] = mountersOf(store.tables, volume)
  if (mounter !== undefined)
    return err(
      refusal(
        'host-volume-in-use',
        `volume ${id} is mounted by allocation ${mounter.ID}: stop it first`,
      ),
    )
  // Takes no new allocations, unless the node registers anew before it withdraws the volume.
  const closed = await storeVolume(context, caller.by, { ...volume, State: 'unavailable' })
  const gone = await deleteOnNode(gateway, store.tables, closed)
  if (!gone.ok && !force) {
    await reopen(context, closed)
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
  return await gateway.request(volume.NodeID, request, NODE_MS_MAX)
}

/** A volume that could not be deleted can be used as before. */
async function reopen(context: WorkloadContext, closed: HostVolumeRecord): Promise<void> {
  const { tables } = context.store
  const known = tables.host_volumes.find(namespacedKey(closed.Namespace, closed.ID))
  if (known === undefined) return
  const State = hostVolumeState(known, tables.nodes.find(known.NodeID))
  if (State !== known.State) await storeVolume(context, 'system', { ...known, State })
}
