import type { TaskGroup, VolumeRequest } from '@reeve/contract'
import type { PublicNode } from '../../model/index.ts'

/**
 * The node must have every volume of the host that the group mounts. Undefined when it mounts none.
 */
export function volumeCheck(
  group: TaskGroup,
): ((node: PublicNode) => string | undefined) | undefined {
  const volumes = Object.values(group.Volumes ?? {})
  // No agent runs storage plugins, so a volume of one is nowhere.
  if (volumes.some((volume) => volume.Type === 'csi')) return () => 'missing CSI volumes'
  const shared = volumes.filter((volume) => !volume.PerAlloc)
  if (shared.length === 0) return undefined
  return (node) =>
    shared.every((volume) => hasVolume(node, volume, volume.Source))
      ? undefined
      : 'missing compatible host volumes'
}

/** As volumeCheck for volumes that each allocation has for itself, named after its index. */
export function perAllocationVolumeCheck(
  group: TaskGroup,
): ((node: PublicNode, index: number) => string | undefined) | undefined {
  const own = Object.values(group.Volumes ?? {}).filter(
    (volume) => volume.PerAlloc && volume.Type === 'host',
  )
  if (own.length === 0) return undefined
  return (node, index) =>
    own.every((volume) => hasVolume(node, volume, `${volume.Source}[${index}]`))
      ? undefined
      : 'missing compatible host volumes'
}

function hasVolume(node: PublicNode, request: VolumeRequest, source: string): boolean {
  const volumes = node.HostVolumes ?? {}
  const volume = Object.hasOwn(volumes, source) ? volumes[source] : undefined
  return volume !== undefined && (request.ReadOnly || !volume.ReadOnly)
}
