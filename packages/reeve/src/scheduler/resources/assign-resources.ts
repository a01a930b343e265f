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
import { assignDevices, type DeviceAssignment } from './device-allocator.ts'
import { capacityOf, freeCores, cpuSharesOf, type GroupRequirements } from './resource-fit.ts'
import { assignPorts, nodePorts, type AssignedPort } from './port-allocator.ts'

interface AssignInput {
  readonly group: TaskGroup
  readonly requirements: GroupRequirements
  readonly node: PublicNode
  readonly usage: NodeUsage
  readonly random: Random
}

/** Assigns resources on the chosen node: CPU shares, cores, ports and devices. */
export function assignResources(input: AssignInput): AllocatedResources {
  const { group, node, requirements, usage, random } = input
  const assignedPorts =
    requirements.ports.length === 0
      ? []
      : assignPorts(requirements.ports, { table: nodePorts(node), usage, random })
  const groupPorts = assignedPorts.filter((port) => port.request.task === undefined)
  return {
    Tasks: Object.fromEntries(assignTasks(input, assignedPorts)),
    TaskLifecycles: taskLifecycles(group),
    Shared: {
      Networks: group.Networks === null ? null : assignNetworks(group.Networks, groupPorts),
      DiskMB: requirements.diskMB,
      Ports: groupPorts.length === 0 ? null : groupPorts.map(allocatedPort),
    },
  }
}

/** Lifecycle phase of each task; resource usage is computed per phase. */
export function taskLifecycles(group: TaskGroup): AllocatedResources['TaskLifecycles'] {
  return Object.fromEntries(group.Tasks.map((task) => [task.Name, task.Lifecycle]))
}

function assignTasks(
  { group, requirements, node, usage }: AssignInput,
  assignedPorts: readonly AssignedPort[],
): readonly (readonly [string, AllocatedTaskResources])[] {
  const capacity = capacityOf(node)
  const cores = [...freeCores(capacity, usage.cores)]
  const devices = assignDevices(requirements.devices, node, usage.devices)
  assert(devices !== undefined, 'a node without the devices was refused before')
  const networks = new Map(group.Tasks.map((task) => [task.Name, task.Resources.Networks]))
  return requirements.tasks.map((task) => {
    const requested = networks.get(task.name) ?? null
    const taskPorts = assignedPorts.filter((port) => port.request.task === task.name)
    const resources: AllocatedTaskResources = {
      Cpu: {
        CpuShares: cpuSharesOf(task, capacity),
        ReservedCores: task.cores === 0 ? null : cores.splice(0, task.cores),
      },
      Memory: { MemoryMB: task.memoryMB, MemoryMaxMB: task.memoryMaxMB },
      Networks: requested === null ? null : assignNetworks(requested, taskPorts),
      Devices: devicesOf(task.name, devices),
    }
    return [task.name, resources] as const
  })
}

function devicesOf(
  task: string,
  { assigned }: DeviceAssignment,
): AllocatedTaskResources['Devices'] {
  const taskDevices = assigned.filter((one) => one.task === task).map((one) => one.device)
  return taskDevices.length === 0 ? null : taskDevices
}

/** The requested networks; the first one with the assigned address and port numbers. */
function assignNetworks(
  networks: readonly NetworkResource[],
  assignedPorts: readonly AssignedPort[],
): readonly NetworkResource[] {
  const values = new Map(assignedPorts.map(({ request, value }) => [request.Label, value]))
  const address = assignedPorts[0]?.address
  const withNumbers = (ports: readonly Port[] | null): readonly Port[] | null =>
    ports?.map((port) => withNumber(port, values.get(port.Label) ?? port.Value)) ?? null
  return networks.map((network, i) =>
    i > 0
      ? network
      : {
          ...network,
          Device: address?.device ?? network.Device,
          IP: address?.address ?? network.IP,
          ReservedPorts: withNumbers(network.ReservedPorts),
          DynamicPorts: withNumbers(network.DynamicPorts),
        },
  )
}

/** A `To` of −1 maps to the same number inside the network. */
function withNumber(port: Port, value: number): Port {
  return { ...port, Value: value, To: port.To === -1 ? value : port.To }
}

function allocatedPort({ request, value, address }: AssignedPort): AllocatedPort {
  return {
    Label: request.Label,
    Value: value,
    To: request.To === -1 ? value : request.To,
    HostIP: address.address,
  }
}
