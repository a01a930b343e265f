import type { HostVolumeRecord, TaskGroup, VolumeRequest } from '@reeve/contract'
import type { PublicNode } from '../../model/index.ts'

/** Finds a dynamic volume by ID in the namespace of the job. */
export type FindVolume = (id: string) => HostVolumeRecord | undefined

const MISSING = 'missing compatible host volumes'

/**
 * Checks that the node has every host volume that the group mounts. Undefined if it mounts none.
 */
export function volumeCheck(
  group: TaskGroup,
  findVolume: FindVolume,
): ((node: PublicNode) => string | undefined) | undefined {
  const volumes = Object.values(group.Volumes ?? {})
  // Agents do not run CSI plugins, so CSI volumes are not available on any node.
  if (volumes.some((volume) => volume.Type === 'csi')) return () => 'missing CSI volumes'
  const shared = volumes.filter((volume) => !volume.PerAlloc)
  if (shared.length === 0) return undefined
  return (node) =>
    shared.every((volume) => hasVolume(node, volume, { source: volume.Source, findVolume }))
      ? undefined
      : MISSING
}

/** Like `volumeCheck`, for per-allocation volumes, whose names contain the name index. */
export function perAllocationVolumeCheck(
  group: TaskGroup,
  findVolume: FindVolume,
): ((node: PublicNode, index: number) => string | undefined) | undefined {
  const volumes = Object.values(group.Volumes ?? {}).filter(
    (volume) => volume.PerAlloc && volume.Type === 'host',
  )
  if (volumes.length === 0) return undefined
  return (node, index) =>
    volumes.every((volume) => {
      const source = `${volume.Source}[${index}]`
      return hasVolume(node, volume, { source, findVolume })
    })
      ? undefined
      : MISSING
}

interface VolumeLookup {
  readonly source: string
  readonly findVolume: FindVolume
}

function hasVolume(
  node: PublicNode,
  request: VolumeRequest,
  { source, findVolume }: VolumeLookup,
): boolean {
  const volume = hostVolumeOf(node, source)
  if (volume === undefined) return false
  if (volume.ID === '') return request.ReadOnly || !volume.ReadOnly
  const dynamicVolume = findVolume(volume.ID)
  return (
    dynamicVolume?.NodeID === node.ID &&
    dynamicVolume.State === 'ready' &&
    offersCapability(dynamicVolume, request)
  )
}

/** Host volume of the node by name. */
export function hostVolumeOf({ HostVolumes }: PublicNode, source: string) {
  const volumes = HostVolumes ?? {}
  return Object.hasOwn(volumes, source) ? volumes[source] : undefined
}

/** True if a capability of the volume matches the requested access and attachment modes. */
function offersCapability(
  { RequestedCapabilities }: HostVolumeRecord,
  request: VolumeRequest,
): boolean {
  const defaultAccessMode = request.ReadOnly ? 'single-node-reader-only' : 'single-node-writer'
  const access = request.AccessMode || defaultAccessMode
  const attachment = request.AttachmentMode || 'file-system'
  return (RequestedCapabilities ?? []).some(
    ({ AccessMode, AttachmentMode }) => AccessMode === access && AttachmentMode === attachment,
  )
}
