import type { Constraint, HostVolumeRecord } from '@reeve/contract'
import {
  operandTest,
  targetReader,
  volumePluginAttribute,
  type NodeUsage,
  type PublicNode,
} from '../../model/index.ts'
import { constraintText } from '../feasible/node-rules.ts'
import { capacityOf } from '../rank/group-ask.ts'

/** What is on a node already, as far as a new volume shares it. */
export interface VolumeNeighbours {
  /** The dynamic volumes of the node, those too that it has yet to make. */
  readonly volumesOn: (nodeId: string) => readonly HostVolumeRecord[]
  readonly usageOn: (nodeId: string) => NodeUsage
}

/** What a new volume asks of its node. */
export type VolumeAsk = Pick<
  HostVolumeRecord,
  'Name' | 'PluginID' | 'Constraints' | 'RequestedCapacityMinBytes'
>

/** The node that takes a volume, or why none does: how many nodes each reason has refused. */
export type VolumePlacement =
  | { readonly node: PublicNode }
  | { readonly node: undefined; readonly refused: ReadonlyMap<string, number> }

const BYTES_PER_MB = 1024 * 1024

/**
 * Chooses the node of a volume: of those that meet its constraints and have its plugin and room,
 * the one with the fewest volumes; among equals the lowest ID.
 */
export function placeVolume(
  nodes: readonly PublicNode[],
  ask: VolumeAsk,
  neighbours: VolumeNeighbours,
): VolumePlacement {
  const check = volumeNodeCheck(ask, neighbours)
  const refused = new Map<string, number>()
  let best: { readonly node: PublicNode; readonly volumes: number } | undefined
  for (const node of nodes) {
    const reason = check(node)
    if (reason !== undefined) {
      refused.set(reason, (refused.get(reason) ?? 0) + 1)
      continue
    }
    const volumes = neighbours.volumesOn(node.ID).length
    if (best !== undefined && !isBetter({ node, volumes }, best)) continue
    best = { node, volumes }
  }
  return best === undefined ? { node: undefined, refused } : { node: best.node }
}

interface Ranked {
  readonly node: PublicNode
  readonly volumes: number
}

function isBetter(one: Ranked, other: Ranked): boolean {
  if (one.volumes !== other.volumes) return one.volumes < other.volumes
  return one.node.ID < other.node.ID
}

/** Says why a node cannot take the volume; undefined when it can. */
export function volumeNodeCheck(
  ask: VolumeAsk,
  neighbours: VolumeNeighbours,
): (node: PublicNode) => string | undefined {
  const constraints = (ask.Constraints ?? []).map(constraintCheck)
  const plugin = volumePluginAttribute(ask.PluginID || 'mkdir')
  return (node) => {
    if (!Object.hasOwn(node.Attributes, plugin))
      return ask.PluginID === ''
        ? 'agent does not support dynamic host volumes'
        : `missing volume plugin "${ask.PluginID}"`
    for (const check of constraints) {
      const reason = check(node)
      if (reason !== undefined) return reason
    }
    if (hasName(node, ask.Name, neighbours)) return `volume name "${ask.Name}" is already in use`
    if (ask.RequestedCapacityMinBytes > freeBytes(node, neighbours)) return 'not enough disk'
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

function hasName(
  { ID, HostVolumes }: PublicNode,
  name: string,
  neighbours: VolumeNeighbours,
): boolean {
  return (
    Object.hasOwn(HostVolumes ?? {}, name) ||
    neighbours.volumesOn(ID).some((volume) => volume.Name === name)
  )
}

/**
 * Returns the disk space that is not reserved, allocated, or promised to volumes. Registered
 * directories do not count: they may be on any file system.
 */
function freeBytes(node: PublicNode, { volumesOn, usageOn }: VolumeNeighbours): number {
  const promised = volumesOn(node.ID)
    .filter(({ PluginID }) => PluginID !== '')
    .map(({ CapacityBytes, RequestedCapacityMinBytes }) =>
      Math.max(CapacityBytes, RequestedCapacityMinBytes),
    )
  const freeMB = capacityOf(node).diskMB - usageOn(node.ID).diskMB
  return freeMB * BYTES_PER_MB - promised.reduce((sum, bytes) => sum + bytes, 0)
}
