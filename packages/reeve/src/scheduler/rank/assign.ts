import type {
  AllocatedPort,
  AllocatedResources,
  AllocatedTaskResources,
  NetworkResource,
  Port,
  TaskGroup,
} from '@reeve/contract'
import type { Random } from '@reeve/kit/clock.ts'
import { assert } from '@reeve/kit/fault.ts'
import type { NodeUsage, PublicNode } from '../../model/index.ts'
import { offerDevices, type DeviceOffer } from './devices.ts'
import { capacityOf, freeCores, sharesOf, type GroupAsk } from './group-ask.ts'
import { givePorts, portTable, type GivenPort } from './ports.ts'

export interface Assignment {
  readonly group: TaskGroup
  readonly ask: GroupAsk
  readonly node: PublicNode
  readonly usage: NodeUsage
  readonly random: Random
}

/** What the chosen node gives: the shares, the very cores, ports and devices. */
export function assignResources(assignment: Assignment): AllocatedResources {
  const { group, node, ask, usage, random } = assignment
  const given =
    ask.ports.length === 0 ? [] : givePorts(ask.ports, { table: portTable(node), usage, random })
  const shared = given.filter((port) => port.ask.task === undefined)
  return {
    Tasks: Object.fromEntries(assignTasks(assignment, given)),
    TaskLifecycles: taskLifecycles(group),
    Shared: {
      Networks: group.Networks === null ? null : assignNetworks(group.Networks, shared),
      DiskMB: ask.diskMB,
      Ports: shared.length === 0 ? null : shared.map(allocatedPort),
    },
  }
}

/** Which phase of the allocation's life each task belongs to; the node is charged by phase. */
export function taskLifecycles(group: TaskGroup): AllocatedResources['TaskLifecycles'] {
  return Object.fromEntries(group.Tasks.map((task) => [task.Name, task.Lifecycle]))
}

function assignTasks(
  { group, ask, node, usage }: Assignment,
  given: readonly GivenPort[],
): readonly (readonly [string, AllocatedTaskResources])[] {
  const capacity = capacityOf(node)
  const cores = [...freeCores(capacity, usage.cores)]
  const devices = offerDevices(ask.devices, node, usage.devices)
  assert(devices !== undefined, 'a node without the devices was refused before')
  const networks = new Map(group.Tasks.map((task) => [task.Name, task.Resources.Networks]))
  return ask.tasks.map((task) => {
    const wanted = networks.get(task.name) ?? null
    const own = given.filter((port) => port.ask.task === task.name)
    const resources: AllocatedTaskResources = {
      Cpu: {
        CpuShares: sharesOf(task, capacity),
        ReservedCores: task.cores === 0 ? null : cores.splice(0, task.cores),
      },
      Memory: { MemoryMB: task.memoryMB, MemoryMaxMB: task.memoryMaxMB },
      Networks: wanted === null ? null : assignNetworks(wanted, own),
      Devices: devicesOf(task.name, devices),
    }
    return [task.name, resources] as const
  })
}

function devicesOf(task: string, { given }: DeviceOffer): AllocatedTaskResources['Devices'] {
  const own = given.filter((one) => one.task === task).map((one) => one.device)
  return own.length === 0 ? null : own
}

/** The networks as asked for, the first one with its address and the numbers of its ports. */
function assignNetworks(
  networks: readonly NetworkResource[],
  given: readonly GivenPort[],
): readonly NetworkResource[] {
  const values = new Map(given.map(({ ask, value }) => [ask.Label, value]))
  const address = given[0]?.address
  const numbered = (ports: readonly Port[] | null): readonly Port[] | null =>
    ports?.map((port) => withNumber(port, values.get(port.Label) ?? port.Value)) ?? null
  return networks.map((network, i) =>
    i > 0
      ? network
      : {
          ...network,
          Device: address?.device ?? network.Device,
          IP: address?.address ?? network.IP,
          ReservedPorts: numbered(network.ReservedPorts),
          DynamicPorts: numbered(network.DynamicPorts),
        },
  )
}

/** −1 maps to the same number inside the network. */
function withNumber(port: Port, value: number): Port {
  return { ...port, Value: value, To: port.To === -1 ? value : port.To }
}

function allocatedPort({ ask, value, address }: GivenPort): AllocatedPort {
  return {
    Label: ask.Label,
    Value: value,
    To: ask.To === -1 ? value : ask.To,
    HostIP: address.address,
  }
}
