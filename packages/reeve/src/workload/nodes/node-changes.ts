import type { Node } from '@reeve/contract'
import { isEqual, type NodeRow } from '../../model/index.ts'

type Described = Pick<NodeRow, 'Drivers' | 'NodeResources' | (typeof FIELDS)[number]>

/**
 * Fields that jobs can reference in constraints; a change of capacity alone only unblocks
 * evaluations.
 */
const FIELDS = [
  'Name',
  'Datacenter',
  'NodePool',
  'NodeClass',
  'Attributes',
  'Meta',
  'HostVolumes',
] as const satisfies readonly (keyof Node)[]

/** Reports whether a change of a node's description requires evaluating the jobs on it. */
export function mattersToJobs(before: Described, after: Described): boolean {
  return (
    FIELDS.some((name) => !isEqual(before[name], after[name])) ||
    !isEqual(driversOf(before), driversOf(after)) ||
    !isEqual(before.NodeResources.Devices, after.NodeResources.Devices)
  )
}

/** Removes the time and description of driver fingerprints, which are no change. */
function driversOf({ Drivers }: Pick<NodeRow, 'Drivers'>): object {
  return Object.fromEntries(
    Object.entries(Drivers).map(([name, { Attributes, Detected, Healthy }]) => [
      name,
      { Attributes, Detected, Healthy },
    ]),
  )
}
