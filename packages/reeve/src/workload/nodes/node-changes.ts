import type { Node } from '@reeve/contract'
import { isEqual, type NodeRow } from '../../model/index.ts'

type Described = Pick<NodeRow, 'Drivers' | 'NodeResources' | (typeof FIELDS)[number]>

/** What jobs may ask for by name; a change of room alone only unblocks those that wait for it. */
const FIELDS = [
  'Name',
  'Datacenter',
  'NodePool',
  'NodeClass',
  'Attributes',
  'Meta',
  'HostVolumes',
] as const satisfies readonly (keyof Node)[]

/** Whether jobs that a node matters to are evaluated because it describes itself otherwise. */
export function mattersToJobs(before: Described, after: Described): boolean {
  return (
    FIELDS.some((name) => !isEqual(before[name], after[name])) ||
    !isEqual(driversOf(before), driversOf(after)) ||
    !isEqual(before.NodeResources.Devices, after.NodeResources.Devices)
  )
}

/** When a driver was last probed, and in which words it answered, is no news. */
function driversOf({ Drivers }: Pick<NodeRow, 'Drivers'>): object {
  return Object.fromEntries(
    Object.entries(Drivers).map(([name, { Attributes, Detected, Healthy }]) => [
      name,
      { Attributes, Detected, Healthy },
    ]),
  )
}
