import type { HostVolumeRecord, TaskGroup, VolumeRequest } from '@reeve/contract'
import type { PublicNode } from '../../model/index.ts'

/** The dynamic volume of an ID in the namespace of the job; undefined when it has none such. */
export type FindVolume = (id: string) => HostVolumeRecord | undefined

const MISSING = 'missing compatible host volumes'

/**
 * The node must have every volume of the host that the group mounts. Undefined when it mounts none.
 */
export function volumeCheck(
  group: TaskGroup,
  findVolume: FindVolume,
): ((node: PublicNode) => string | undefined) | undefined {
  const volumes = Object.values(group.Volumes ?? {})
  // No agent runs storage plugins, so a volume of one is nowhere.
  if (volumes.some((volume) => volume.Type === 'csi')) return () => 'missing CSI volumes'
  const shared = volumes.filter((volume) => !volume.PerAlloc)
  if (shared.length === 0) return undefined
  return (node) =>
    shared.every((volume) => hasVolume(node, volume, { source: volume.Source, findVolume }))
      ? undefined
      : MISSING
}

/** As volumeCheck for volumes that each allocation has for itself, named after its index. */
export function perAllocationVolumeCheck(
  group: TaskGroup,
  findVolume: FindVolume,
): ((node: PublicNode, index: number) => string | undefined) | undefined {
  const own = Object.values(group.Volumes ?? {}).filter(
    (volume) => volume.PerAlloc && volume.Type === 'host',
  )
  if (own.length === 0) return undefined
  return (node, index) =>
    own.every((volume) => {
      const source = `${volume.Source}[${index}]`
      return hasVolume(node, volume, { source, findVolume })
    })
      ? undefined
      : MISSING
}

interface Wanted {
  readonly source: string
  readonly findVolume: FindVolume
}

function hasVolume(
  node: PublicNode,
  request: VolumeRequest,
  { source, findVolume }: Wanted,
): boolean {
  const volume = volumeOn(node, source)
  if (volume === undefined) return false
  if (volume.ID === '') return request.ReadOnly || !volume.ReadOnly
  const dynamic = findVolume(volume.ID)
  return dynamic?.NodeID === node.ID && dynamic.State === 'ready' && offers(dynamic, request)
}

/** The volume of a node that has this name. */
export function volumeOn({ HostVolumes }: PublicNode, source: string) {
  const volumes = HostVolumes ?? {}
  return Object.hasOwn(volumes, source) ? volumes[source] : undefined
}

/** Whether one of the volume's capabilities is what the group wants. */
function offers({ RequestedCapabilities }: HostVolumeRecord, request: VolumeRequest): boolean {
  const byDefault = request.ReadOnly ? 'single-node-reader-only' : 'single-node-writer'
  const access = request.AccessMode || byDefault
  const attachment = request.AttachmentMode || 'file-system'
  return (RequestedCapabilities ?? []).some(
    ({ AccessMode, AttachmentMode }) => AccessMode === access && AttachmentMode === attachment,
  )
}
