import type { Node } from '@reeve/contract'
import { isEqual, type NodeRow } from '../../model/index.ts'

type NodeDescription = Pick<
  NodeRow,
  'Drivers' | 'NodeResources' | (typeof CONSTRAINT_FIELDS)[number]
>

/**
 * Fields that jobs can reference in constraints; a change of capacity alone only unblocks
 * evaluations.
 */
const CONSTRAINT_FIELDS = [
  'Name',
  'Datacenter',
  'NodePool',
  'NodeClass',
  'Attributes',
  'Meta',
  'HostVolumes',
] as const satisfies readonly (keyof Node)[]

/** Reports whether a change of a node's description requires evaluating the jobs on it. */
export function affectsPlacement(before: NodeDescription, after: NodeDescription): boolean {
  return (
    CONSTRAINT_FIELDS.some((name) => !isEqual(before[name], after[name])) ||
    !isEqual(comparableDrivers(before), comparableDrivers(after)) ||
    !isEqual(before.NodeResources.Devices, after.NodeResources.Devices)
  )
}

/** Removes the time and description of driver fingerprints, which are no change. */
function comparableDrivers({ Drivers }: Pick<NodeRow, 'Drivers'>): object {
  return Object.fromEntries(
    Object.entries(Drivers).map(([name, { Attributes, Detected, Healthy }]) => [
      name,
      { Attributes, Detected, Healthy },
    ]),
  )
}
