import type { AllocatedDevice, NodeDevice, RequestedDevice, TaskGroup } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  deviceKey,
  deviceNameMatcher,
  deviceConstraintMatcher,
  type DeviceMatcher,
  type PublicNode,
} from '../../model/index.ts'

/** One device requirement of a task. */
export interface DeviceRequirement {
  readonly task: string
  readonly request: RequestedDevice
  readonly matches: DeviceMatcher
  /** Sum of the weights of the affinities that match a device. */
  readonly affinityWeightOf: (device: NodeDevice) => number
  /** Sum of the absolute weights; 0 without affinities. */
  readonly totalAffinityWeight: number
}

export interface DeviceAssignment {
  readonly assigned: readonly { readonly task: string; readonly device: AllocatedDevice }[]
  /** Undefined if no task has device affinities. */
  readonly score: number | undefined
}

/** Device instances in use, by `deviceKey`. */
interface DevicesInUse {
  has(key: string): boolean
}

export function deviceRequirements(group: TaskGroup): readonly DeviceRequirement[] {
  return group.Tasks.flatMap((task) =>
    (task.Resources.Devices ?? []).map((request) => deviceRequirement(task.Name, request)),
  )
}

function deviceRequirement(task: string, request: RequestedDevice): DeviceRequirement {
  const tests = [
    deviceNameMatcher(request.Name),
    ...(request.Constraints ?? []).map((constraint) => deviceConstraintMatcher(constraint)),
  ]
  const affinities = (request.Affinities ?? []).map((affinity) => ({
    test: deviceConstraintMatcher(affinity),
    weight: affinity.Weight,
  }))
  return {
    task,
    request,
    matches: (device) => tests.every((test) => test(device)),
    affinityWeightOf: (device) =>
      affinities.reduce((sum, { test, weight }) => sum + (test(device) ? weight : 0), 0),
    totalAffinityWeight: affinities.reduce((sum, { weight }) => sum + Math.abs(weight), 0),
  }
}

/**
 * Assigns devices to each requirement in order, all instances from the device group with the
 * highest affinity. Undefined if the node has too few healthy free instances.
 */
export function assignDevices(
  requirements: readonly DeviceRequirement[],
  node: PublicNode,
  inUse: DevicesInUse,
): DeviceAssignment | undefined {
  const assigned: { readonly task: string; readonly device: AllocatedDevice }[] = []
  const taken = new Set<string>()
  const isTaken = (key: string): boolean => taken.has(key) || inUse.has(key)
  let matchedWeight = 0
  let totalWeight = 0
  for (const requirement of requirements) {
    const choice = bestDevice(requirement, node, isTaken)
    if (choice === undefined) return undefined
    for (const id of choice.ids) taken.add(deviceKey(choice.device, id))
    const { Vendor, Type, Name } = choice.device
    assigned.push({ task: requirement.task, device: { Vendor, Type, Name, DeviceIDs: choice.ids } })
    matchedWeight += choice.weight
    totalWeight += requirement.totalAffinityWeight
  }
  return { assigned, score: totalWeight === 0 ? undefined : matchedWeight / totalWeight }
}

interface DeviceChoice {
  readonly device: NodeDevice
  readonly ids: readonly string[]
  readonly weight: number
}

function bestDevice(
  { request, matches, affinityWeightOf }: DeviceRequirement,
  node: PublicNode,
  isTaken: (key: string) => boolean,
): DeviceChoice | undefined {
  let best: DeviceChoice | undefined
  for (const device of node.NodeResources.Devices ?? []) {
    if (!matches(device)) continue
    const free = freeInstances(device, isTaken)
    if (free.length < request.Count) continue
    const weight = affinityWeightOf(device)
    const isBetter =
      best === undefined ||
      weight > best.weight ||
      (weight === best.weight && compareText(deviceName(device), deviceName(best.device)) < 0)
    if (isBetter) best = { device, ids: free.slice(0, request.Count), weight }
  }
  return best
}

/** Healthy instances that are not in use, sorted by ID. */
export function freeInstances(
  device: NodeDevice,
  isTaken: (key: string) => boolean,
): readonly string[] {
  return device.Instances.filter(
    (instance) => instance.Healthy && !isTaken(deviceKey(device, instance.ID)),
  )
    .map((instance) => instance.ID)
    .toSorted(compareText)
}

function deviceName({ Vendor, Type, Name }: NodeDevice): string {
  return `${Vendor}/${Type}/${Name}`
}
