import type { Constraint, HostVolumeRecord } from '@reeve/contract'
import {
  operandTest,
  targetReader,
  volumePluginAttribute,
  type NodeUsage,
  type PublicNode,
} from '../model/index.ts'
import { constraintText } from './feasibility/feasibility-rules.ts'
import { capacityOf } from './resources/resource-fit.ts'

/** Volumes and usage of nodes. */
export interface NodeVolumeUsage {
  /** Dynamic volumes of the node, including those not yet created. */
  readonly volumesOn: (nodeId: string) => readonly HostVolumeRecord[]
  readonly usageOn: (nodeId: string) => NodeUsage
}

/** Node requirements of a new volume. */
type VolumeRequirements = Pick<
  HostVolumeRecord,
  'Name' | 'PluginID' | 'Constraints' | 'RequestedCapacityMinBytes'
>

/** The chosen node, or the number of nodes rejected by each reason. */
type VolumePlacement =
  | { readonly node: PublicNode }
  | { readonly node: undefined; readonly refused: ReadonlyMap<string, number> }

const BYTES_PER_MB = 1024 * 1024

/**
 * Chooses the node for a volume: among feasible nodes with enough disk space, the one with the
 * fewest volumes; ties go to the lowest ID.
 */
export function placeVolume(
  nodes: readonly PublicNode[],
  requirements: VolumeRequirements,
  usage: NodeVolumeUsage,
): VolumePlacement {
  const check = volumeNodeCheck(requirements, usage)
  const rejections = new Map<string, number>()
  let best: { readonly node: PublicNode; readonly volumes: number } | undefined
  for (const node of nodes) {
    const reason = check(node)
    if (reason !== undefined) {
      rejections.set(reason, (rejections.get(reason) ?? 0) + 1)
      continue
    }
    const volumes = usage.volumesOn(node.ID).length
    if (best !== undefined && !hasFewerVolumes({ node, volumes }, best)) continue
    best = { node, volumes }
  }
  return best === undefined ? { node: undefined, refused: rejections } : { node: best.node }
}

interface Ranked {
  readonly node: PublicNode
  readonly volumes: number
}

function hasFewerVolumes(one: Ranked, other: Ranked): boolean {
  if (one.volumes !== other.volumes) return one.volumes < other.volumes
  return one.node.ID < other.node.ID
}

/** Returns why a node cannot create the volume; undefined if it can. */
export function volumeNodeCheck(
  requirements: VolumeRequirements,
  usage: NodeVolumeUsage,
): (node: PublicNode) => string | undefined {
  const constraints = (requirements.Constraints ?? []).map(constraintCheck)
  const plugin = volumePluginAttribute(requirements.PluginID || 'mkdir')
  return (node) => {
    if (!Object.hasOwn(node.Attributes, plugin))
      return requirements.PluginID === ''
        ? 'agent does not support dynamic host volumes'
        : `missing volume plugin "${requirements.PluginID}"`
    for (const check of constraints) {
      const reason = check(node)
      if (reason !== undefined) return reason
    }
    if (hasName(node, requirements.Name, usage))
      return `volume name "${requirements.Name}" is already in use`
    if (requirements.RequestedCapacityMinBytes > freeBytes(node, usage)) return 'not enough disk'
    return undefined
  }
}

function constraintCheck(constraint: Constraint): (node: PublicNode) => string | undefined {
  const left = targetReader(constraint.LTarget)
  const right = targetReader(constraint.RTarget)
  const meets = operandTest(constraint.Operand)
  const text = constraintText(constraint)
  return (node) => (meets(left(node), right(node)) ? undefined : text)
}

function hasName({ ID, HostVolumes }: PublicNode, name: string, usage: NodeVolumeUsage): boolean {
  return (
    Object.hasOwn(HostVolumes ?? {}, name) ||
    usage.volumesOn(ID).some((volume) => volume.Name === name)
  )
}

/**
 * Returns the disk space that is not reserved, allocated, or promised to volumes. Registered
 * directories do not count: they may be on any file system.
 */
function freeBytes(node: PublicNode, { volumesOn, usageOn }: NodeVolumeUsage): number {
  const promisedBytes = volumesOn(node.ID)
    .filter(({ PluginID }) => PluginID !== '')
    .map(({ CapacityBytes, RequestedCapacityMinBytes }) =>
      Math.max(CapacityBytes, RequestedCapacityMinBytes),
    )
  const freeMB = capacityOf(node).diskMB - usageOn(node.ID).diskMB
  return freeMB * BYTES_PER_MB - promisedBytes.reduce((sum, bytes) => sum + bytes, 0)
}
