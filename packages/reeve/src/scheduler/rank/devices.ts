import type { AllocatedDevice, NodeDevice, RequestedDevice, TaskGroup } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  deviceKey,
  deviceNameTest,
  deviceTest,
  type DeviceTest,
  type PublicNode,
} from '../../model/index.ts'

/** Devices that one task asks for. */
export interface DeviceAsk {
  readonly task: string
  readonly request: RequestedDevice
  readonly accepts: DeviceTest
  /** What the task's affinities say of a device: the sum of the weights that match. */
  readonly weightOf: (device: NodeDevice) => number
  /** The sum of all weights, whatever their sign; 0 without affinities. */
  readonly weight: number
}

export interface DeviceOffer {
  readonly given: readonly { readonly task: string; readonly device: AllocatedDevice }[]
  /** Undefined when no task has an affinity to devices. */
  readonly score: number | undefined
}

/** The instances that somebody has, by `deviceKey`. */
export interface HeldDevices {
  has(key: string): boolean
}

export function deviceAsks(group: TaskGroup): readonly DeviceAsk[] {
  return group.Tasks.flatMap((task) =>
    (task.Resources.Devices ?? []).map((request) => deviceAsk(task.Name, request)),
  )
}

function deviceAsk(task: string, request: RequestedDevice): DeviceAsk {
  const tests = [
    deviceNameTest(request.Name),
    ...(request.Constraints ?? []).map((constraint) => deviceTest(constraint)),
  ]
  const affinities = (request.Affinities ?? []).map((affinity) => ({
    test: deviceTest(affinity),
    weight: affinity.Weight,
  }))
  return {
    task,
    request,
    accepts: (device) => tests.every((test) => test(device)),
    weightOf: (device) =>
      affinities.reduce((sum, { test, weight }) => sum + (test(device) ? weight : 0), 0),
    weight: affinities.reduce((sum, { weight }) => sum + Math.abs(weight), 0),
  }
}

/**
 * Each ask gets all its instances from one kind of device, the one that its affinities like best;
 * undefined when the node has too few that are well and free. Asks are served in their order.
 */
export function offerDevices(
  asks: readonly DeviceAsk[],
  node: PublicNode,
  held: HeldDevices,
): DeviceOffer | undefined {
  const given: { readonly task: string; readonly device: AllocatedDevice }[] = []
  const taken = new Set<string>()
  const isTaken = (key: string): boolean => taken.has(key) || held.has(key)
  let matched = 0
  let weight = 0
  for (const ask of asks) {
    const choice = bestDevice(ask, node, isTaken)
    if (choice === undefined) return undefined
    for (const id of choice.ids) taken.add(deviceKey(choice.device, id))
    const { Vendor, Type, Name } = choice.device
    given.push({ task: ask.task, device: { Vendor, Type, Name, DeviceIDs: choice.ids } })
    matched += choice.weight
    weight += ask.weight
  }
  return { given, score: weight === 0 ? undefined : matched / weight }
}

interface DeviceChoice {
  readonly device: NodeDevice
  readonly ids: readonly string[]
  readonly weight: number
}

function bestDevice(
  { request, accepts, weightOf }: DeviceAsk,
  node: PublicNode,
  isTaken: (key: string) => boolean,
): DeviceChoice | undefined {
  let best: DeviceChoice | undefined
  for (const device of node.NodeResources.Devices ?? []) {
    if (!accepts(device)) continue
    const free = freeInstances(device, isTaken)
    if (free.length < request.Count) continue
    const weight = weightOf(device)
    const isBetter =
      best === undefined ||
      weight > best.weight ||
      (weight === best.weight && compareText(nameOf(device), nameOf(best.device)) < 0)
    if (isBetter) best = { device, ids: free.slice(0, request.Count), weight }
  }
  return best
}

/** Instances that are well and that nobody has, by ID. */
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

function nameOf({ Vendor, Type, Name }: NodeDevice): string {
  return `${Vendor}/${Type}/${Name}`
}
