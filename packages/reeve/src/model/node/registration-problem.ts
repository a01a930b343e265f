import type { NodeRegistration } from '@reeve/contract'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { LIMITS, PORT_MAX } from '../limits.ts'

type ProblemText = string | undefined

/** Same format as `node_pool` of the API; `all` means every pool, so no node can be in it. */
const POOL_NAME = /^(?!all$)[A-Za-z0-9_-]{1,128}$/
const NODE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const NAME = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${LIMITS.nodeNameCharsMax - 1}}$`)
export const VOLUME_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}(?:\[\d{1,6}\])?$/
const DRIVER_NAME = /^[A-Za-z0-9_.-]{1,64}$/
const WORD = /^[^\s\p{Cc}\p{Cf}]*$/u
/** Attributes may have several lines, but no characters that control a terminal. */
const TEXT = /^(?:[^\p{Cc}]|[\t\n])*$/u
const PORT_RANGES = /^[0-9, -]*$/

export function isNodeName(text: string): boolean {
  return NAME.test(text)
}

export function isNodePoolName(text: string): boolean {
  return POOL_NAME.test(text)
}

/**
 * Returns why a registration is rejected; undefined if it is valid. A node is not trusted: every
 * value that it sends appears in lists, scheduling and terminals.
 */
export function registrationProblem(node: NodeRegistration): ProblemText {
  const problem =
    nameProblem(node) ??
    resourceProblem(node) ??
    networkProblem(node) ??
    deviceProblem(node) ??
    driverProblem(node) ??
    volumeProblem(node) ??
    mapProblem('Attributes', node.Attributes, LIMITS.nodeAttributesMax) ??
    mapProblem('Meta', node.Meta, LIMITS.nodeMetaMax) ??
    mapProblem('Links', node.Links, LIMITS.nodeMetaMax) ??
    sizeProblem(node)
  return problem === undefined ? undefined : `this node may not register: ${problem}`
}

function nameProblem(node: NodeRegistration): ProblemText {
  const { nodeNameCharsMax: max, nodeWordCharsMax: wordMax } = LIMITS
  const rule = `must be 1 to ${max} letters, digits, ".", "_" and "-", the first a letter or digit`
  if (!NODE_ID.test(node.ID)) return 'ID must be a UUID in lower case'
  if (!isNodeName(node.Name)) return `Name (setting "name") ${rule}`
  if (!isNodeName(node.Datacenter)) return `Datacenter (setting "datacenter") ${rule}`
  if (!isNodePoolName(node.NodePool))
    return (
      'NodePool (setting "client.node_pool") must be 1 to 128 letters, digits, "_" and "-", ' +
      'but not "all"'
    )
  const words = { NodeClass: node.NodeClass, HTTPAddr: node.HTTPAddr }
  for (const [field, value] of Object.entries({ ...words, CgroupParent: node.CgroupParent }))
    if (value.length > wordMax || !WORD.test(value))
      return `${field} must be at most ${wordMax} characters without spaces or control characters`
  return undefined
}

function resourceProblem({ NodeResources: total, ReservedResources: reserved }: NodeRegistration) {
  const { nodeCpuMHzMax, nodeMemoryMBMax, nodeDiskMBMax, nodeCoresMax } = LIMITS
  return (
    amountProblem('NodeResources.Cpu.CpuShares', total.Cpu.CpuShares, nodeCpuMHzMax) ??
    amountProblem('NodeResources.Cpu.TotalCpuCores', total.Cpu.TotalCpuCores, nodeCoresMax) ??
    coresProblem('NodeResources.Cpu.ReservableCpuCores', total.Cpu.ReservableCpuCores) ??
    amountProblem('NodeResources.Memory.MemoryMB', total.Memory.MemoryMB, nodeMemoryMBMax) ??
    amountProblem('NodeResources.Disk.DiskMB', total.Disk.DiskMB, nodeDiskMBMax) ??
    amountProblem('NodeResources.MinDynamicPort', total.MinDynamicPort, PORT_MAX) ??
    amountProblem('NodeResources.MaxDynamicPort', total.MaxDynamicPort, PORT_MAX) ??
    amountProblem('ReservedResources.Cpu.CpuShares', reserved.Cpu.CpuShares, nodeCpuMHzMax) ??
    coresProblem('ReservedResources.Cpu.ReservedCpuCores', reserved.Cpu.ReservedCpuCores) ??
    amountProblem('ReservedResources.Memory.MemoryMB', reserved.Memory.MemoryMB, nodeMemoryMBMax) ??
    amountProblem('ReservedResources.Disk.DiskMB', reserved.Disk.DiskMB, nodeDiskMBMax) ??
    portsProblem('ReservedResources.Networks', reserved.Networks.ReservedHostPorts)
  )
}

/** Also rejects numbers that are not finite. */
function amountProblem(field: string, value: number, max: number): ProblemText {
  return Number.isSafeInteger(value) && value >= 0 && value <= max
    ? undefined
    : `${field} must be a whole number from 0 to ${max}`
}

function coresProblem(field: string, cores: readonly number[] | null): ProblemText {
  const max = LIMITS.nodeCoresMax
  if (cores === null) return undefined
  const isValid = (core: number): boolean => Number.isSafeInteger(core) && core >= 0 && core < max
  return cores.length <= max && cores.every(isValid)
    ? undefined
    : `${field} must be at most ${max} numbers of cores`
}

function portsProblem(field: string, ports: string): ProblemText {
  const max = LIMITS.nodeTextCharsMax
  return ports.length <= max && PORT_RANGES.test(ports)
    ? undefined
    : `${field} must name ports such as "22,80,8500-8600", in at most ${max} characters`
}

function networkProblem({ NodeResources, HostNetworks }: NodeRegistration): ProblemText {
  const { NodeNetworks, Networks } = NodeResources
  const max = LIMITS.nodePartsMax
  const addresses = (NodeNetworks ?? []).flatMap((network) => network.Addresses ?? [])
  if ([NodeNetworks ?? [], Networks ?? [], addresses].some((list) => list.length > max))
    return `NodeResources must have at most ${max} networks and ${max} addresses`
  for (const { Mode, Device, MacAddress, Speed } of NodeNetworks ?? []) {
    const problem =
      wordsProblem('NodeResources.NodeNetworks', [Mode, Device, MacAddress]) ??
      amountProblem('NodeResources.NodeNetworks.Speed', Speed, LIMITS.nodeCpuMHzMax)
    if (problem !== undefined) return problem
  }
  for (const { Family, Alias, Address, Gateway, ReservedPorts } of addresses) {
    const field = 'NodeResources.NodeNetworks.Addresses'
    const problem =
      wordsProblem(field, [Family, Alias, Address, Gateway]) ??
      portsProblem(`${field}.ReservedPorts`, ReservedPorts)
    if (problem !== undefined) return problem
  }
  const named = Object.entries(HostNetworks ?? {})
  if (named.length > max) return `HostNetworks must have at most ${max} entries`
  for (const [name, { Name, CIDR, Interface, ReservedPorts }] of named) {
    const problem =
      wordsProblem('HostNetworks', [name, Name, CIDR, Interface]) ??
      portsProblem('HostNetworks.ReservedPorts', ReservedPorts)
    if (problem !== undefined) return problem
  }
  return undefined
}

function wordsProblem(field: string, words: readonly string[]): ProblemText {
  const max = LIMITS.nodeWordCharsMax
  return words.every((word) => word.length <= max && WORD.test(word))
    ? undefined
    : `${field} must have texts of at most ${max} characters without spaces or control characters`
}

function deviceProblem({ NodeResources: { Devices } }: NodeRegistration): ProblemText {
  const { nodePartsMax, nodeDeviceInstancesMax: instancesMax } = LIMITS
  if (Devices === null) return undefined
  const instances = Devices.flatMap((device) => device.Instances)
  if (Devices.length > nodePartsMax || instances.length > instancesMax)
    return `Devices must be at most ${nodePartsMax} kinds and ${instancesMax} instances`
  for (const { Vendor, Type, Name, Attributes } of Devices) {
    const names = Object.keys(Attributes ?? {})
    if (names.length > nodePartsMax) return `a device must have at most ${nodePartsMax} attributes`
    const units = Object.values(Attributes ?? {}).flatMap((one) => [one.Unit, one.String ?? ''])
    const problem =
      textsProblem('NodeResources.Devices', [Vendor, Type, Name]) ??
      textsProblem('NodeResources.Devices.Attributes', [...names, ...units])
    if (problem !== undefined) return problem
  }
  return wordsProblem(
    'NodeResources.Devices.Instances',
    instances.map(({ ID }) => ID),
  )
}

function textsProblem(field: string, texts: readonly string[]): ProblemText {
  const max = LIMITS.nodeTextCharsMax
  return texts.every((text) => text.length <= max && TEXT.test(text))
    ? undefined
    : `${field} must have texts of at most ${max} characters without control characters`
}

function driverProblem({ Drivers }: NodeRegistration): ProblemText {
  const max = LIMITS.nodeDriversMax
  const entries = Object.entries(Drivers)
  if (entries.length > max) return `Drivers must have at most ${max} entries`
  for (const [name, { Attributes }] of entries) {
    if (!DRIVER_NAME.test(name))
      return 'the name of a driver must be 1 to 64 letters, digits, ".", "_" and "-"'
    const problem = mapProblem(`Drivers.${name}`, Attributes, LIMITS.nodeAttributesMax)
    if (problem !== undefined) return problem
  }
  return undefined
}

function volumeProblem({ HostVolumes }: NodeRegistration): ProblemText {
  const max = LIMITS.nodePartsMax
  const entries = Object.entries(HostVolumes ?? {})
  if (entries.length > max) return `HostVolumes must have at most ${max} entries`
  for (const [name, { Name, Path, ID }] of entries) {
    if (!VOLUME_NAME.test(name) || (Name !== name && Name !== ''))
      return 'a host volume must be named by letters, digits, ".", "_" and "-", the same in `Name`'
    const problem = textsProblem('HostVolumes', [Path, ID])
    if (problem !== undefined) return problem
  }
  return undefined
}

function mapProblem(
  field: string,
  map: Readonly<Record<string, string>> | null,
  max: number,
): ProblemText {
  const entries = Object.entries(map ?? {})
  if (entries.length > max) return `${field} must have at most ${max} entries`
  const names = entries.map(([name]) => name)
  if (names.some((name) => name === '')) return `${field} must have no empty name`
  return wordsProblem(field, names) ?? textsProblem(field, Object.values(map ?? {}))
}

/** Limits the total size, because all node lists and events contain it. */
function sizeProblem(node: NodeRegistration): ProblemText {
  const max = LIMITS.nodeRegistrationBytesMax
  const text = JSON.stringify(node)
  const bytes = text.length > max ? text.length : encodeUtf8(text).length
  return bytes <= max ? undefined : `its description has ${bytes} bytes, at most ${max} are allowed`
}
