import type {
  Constraint,
  HostVolumeRecord,
  Job,
  NetworkResource,
  PlacementRule,
  RuleLevel,
  Task,
  TaskGroup,
  VolumeRequest,
} from '@reeve/contract'
import { isUniqueTarget, operandTest, targetReader, type PublicNode } from '../../model/index.ts'
import { deviceRequirements, assignDevices } from '../resources/device-allocator.ts'
import { nodePorts, portRequests } from '../resources/port-allocator.ts'

/** Returns why a node cannot run the group; undefined if it can. */
export type FeasibilityCheck = (node: PublicNode) => string | undefined

/**
 * A rule that a node must meet regardless of capacity. Placement stops at the first violation; an
 * explanation evaluates all rules.
 */
export interface FeasibilityRule {
  readonly rule: PlacementRule
  /** Block that defines the rule. */
  readonly level: RuleLevel
  /** Name of the task for a rule at task level; otherwise empty. */
  readonly task: string
  readonly constraint: Constraint | null
  /** True if all nodes of a class give the same result. */
  readonly isDecidedByClass: boolean
  /** Returns the label under which filtered nodes are counted; undefined if the rule is met. */
  readonly check: FeasibilityCheck
  /** Required names, for messages; empty if the text of `check` contains them. */
  readonly requires: string
  /** Value of the node, for messages. */
  readonly describeNode: (node: PublicNode) => string
}

/** Returns the feasibility rules in evaluation order. */
function feasibilityRules(
  job: Job,
  group: TaskGroup,
  findVolume: FindVolume,
): readonly FeasibilityRule[] {
  return [
    ...constraintRules(job.Constraints, 'job'),
    ...group.Tasks.map(driverRule),
    ...constraintRules(group.Constraints, 'group'),
    ...group.Tasks.flatMap((task) => constraintRules(task.Constraints, 'task', task.Name)),
    ...deviceRules(group),
    ...numaRules(group),
    ...ruleIfNeeded('network', networkCheck(group), isolatedMode(group)),
    ...ruleIfNeeded('volume', volumeCheck(group, findVolume), volumeSources(group).join(', ')),
  ]
}

/** Rules for constraints, except `distinct_*` ones, which depend on other allocations. */
function constraintRules(
  constraints: readonly Constraint[] | null,
  level: RuleLevel,
  task = '',
): readonly FeasibilityRule[] {
  return (constraints ?? [])
    .filter((constraint) => !constraint.Operand.startsWith('distinct_'))
    .map((constraint) => constraintRule(constraint, level, task))
}

function constraintRule(constraint: Constraint, level: RuleLevel, task: string): FeasibilityRule {
  const left = targetReader(constraint.LTarget)
  const right = targetReader(constraint.RTarget)
  const meets = operandTest(constraint.Operand)
  const label = constraintText(constraint)
  return {
    rule: 'constraint',
    level,
    task,
    constraint,
    isDecidedByClass: !isUniqueTarget(constraint.LTarget) && !isUniqueTarget(constraint.RTarget),
    check: (node) => (meets(left(node), right(node)) ? undefined : label),
    requires: '',
    describeNode: (node) => left(node) ?? '',
  }
}

/** Label under which nodes filtered by a constraint are counted. */
export function constraintText({ LTarget, Operand, RTarget }: Constraint): string {
  return `${LTarget} ${Operand} ${RTarget}`.trim()
}

/**
 * Requires the driver of a task to be detected and healthy. Healthy drivers are part of the
 * computed class.
 */
function driverRule({ Name: task, Driver: name }: Task): FeasibilityRule {
  const detectedDriver = ({ Drivers }: PublicNode) => {
    const driver = Object.hasOwn(Drivers, name) ? Drivers[name] : undefined
    return driver?.Detected === true ? driver : undefined
  }
  return {
    ...RULE_DEFAULTS,
    rule: 'driver',
    level: 'task',
    task,
    isDecidedByClass: true,
    check: (node) => (detectedDriver(node)?.Healthy === true ? undefined : 'missing drivers'),
    requires: name,
    describeNode: (node) => {
      const driver = detectedDriver(node)
      if (driver === undefined) return healthyDrivers(node).join(', ')
      return driver.Healthy ? name : `${name} (unhealthy)`
    },
  }
}

function healthyDrivers({ Drivers }: PublicNode): readonly string[] {
  return Object.keys(Drivers).filter((name) => Drivers[name]?.Healthy === true)
}

/** Requires healthy devices that match, whether or not they are in use. */
function deviceRules(group: TaskGroup): readonly FeasibilityRule[] {
  const requirements = deviceRequirements(group)
  const [first] = requirements
  if (first === undefined) return []
  return [
    {
      ...RULE_DEFAULTS,
      rule: 'device',
      level: 'task',
      task: first.task,
      check: (node) =>
        assignDevices(requirements, node, NO_DEVICES_IN_USE) === undefined
          ? 'missing devices'
          : undefined,
      requires: deviceNames(group).join(', '),
      describeNode: (node) =>
        (node.NodeResources.Devices ?? [])
          .map(({ Vendor, Type, Name }) => `${Vendor}/${Type}/${Name}`)
          .join(', '),
    },
  ]
}

function deviceNames(group: TaskGroup): readonly string[] {
  return group.Tasks.flatMap((task) => (task.Resources.Devices ?? []).map(({ Name }) => Name))
}

const NO_DEVICES_IN_USE = { has: () => false }

/** Agents do not report NUMA topology, so tasks that require it cannot be placed. */
function numaRules(group: TaskGroup): readonly FeasibilityRule[] {
  return group.Tasks.filter((task) => task.Resources.NUMA?.Affinity === 'require').map((task) => ({
    ...RULE_DEFAULTS,
    rule: 'device',
    level: 'task',
    task: task.Name,
    check: () => 'missing NUMA topology',
  }))
}

function volumeSources(group: TaskGroup): readonly string[] {
  return Object.values(group.Volumes ?? {}).map(({ Source }) => Source)
}

function ruleIfNeeded(
  rule: PlacementRule,
  check: FeasibilityCheck | undefined,
  requires = '',
): readonly FeasibilityRule[] {
  return check === undefined ? [] : [{ ...RULE_DEFAULTS, rule, check, requires }]
}

const RULE_DEFAULTS = {
  level: 'group',
  task: '',
  constraint: null,
  isDecidedByClass: false,
  requires: '',
  describeNode: () => '',
} as const

/**
 * Checks that the node offers the network mode and the host network of each port. Undefined if the
 * group requires neither.
 */
export function networkCheck(
  group: TaskGroup,
): ((node: PublicNode) => string | undefined) | undefined {
  const network = group.Networks?.[0]
  const ports = portRequests(group)
  if (network === undefined && ports.length === 0) return undefined
  const mode = network === undefined ? 'host' : modeOf(network)
  const hostNetworks = [...new Set(ports.map((port) => port.HostNetwork))]
  const drivers = MODES_OF_EVERY_NODE.has(mode) ? [] : driversInNetwork(group)
  return (node) => {
    if (!offersNetworkMode(node, mode)) return 'missing network'
    const driverWithoutNetwork = drivers.find(
      (name) => node.Attributes[networkAttribute(name)] === 'none',
    )
    if (driverWithoutNetwork !== undefined)
      return `missing network for driver ${driverWithoutNetwork}`
    if (hostNetworks.length === 0) return undefined
    const { addresses } = nodePorts(node)
    const missing = hostNetworks.find((name) => !addresses.has(name))
    return missing === undefined ? undefined : `missing host network ${JSON.stringify(missing)}`
  }
}

/** Network mode of the group; empty for modes that every node offers. */
function isolatedMode({ Networks }: TaskGroup): string {
  const mode = Networks?.[0]?.Mode ?? ''
  return MODES_OF_EVERY_NODE.has(mode) ? '' : mode
}

/** Node attribute that tells whether tasks of a driver can join the network of their allocation. */
const networkAttribute = (driver: string): string => `driver.${driver}.allocation_network`

/** Drivers of the tasks that do not set `network_mode`. */
function driversInNetwork({ Tasks }: TaskGroup): readonly string[] {
  const tasks = (Tasks ?? []).filter(({ Config }) => (Config?.['network_mode'] ?? '') === '')
  return [...new Set(tasks.map(({ Driver }) => Driver))]
}

/** Every node supports `host` and `none`. */
const MODES_OF_EVERY_NODE: ReadonlySet<string> = new Set(['host', 'none'])

function offersNetworkMode(node: PublicNode, mode: string): boolean {
  if (MODES_OF_EVERY_NODE.has(mode)) return true
  const { Networks: networks, NodeNetworks: interfaces } = node.NodeResources
  return (
    (networks ?? []).some((network) => modeOf(network) === mode) ||
    (interfaces ?? []).some((network) => network.Mode === mode)
  )
}

function modeOf(network: NetworkResource): string {
  return network.Mode === '' ? 'host' : network.Mode
}

/** Finds a dynamic volume by ID in the namespace of the job. */
export type FindVolume = (id: string) => HostVolumeRecord | undefined

const MISSING = 'missing compatible host volumes'

/**
 * Checks that the node has every host volume that the group mounts. Undefined if it mounts none.
 */
function volumeCheck(
  group: TaskGroup,
  findVolume: FindVolume,
): ((node: PublicNode) => string | undefined) | undefined {
  const volumes = Object.values(group.Volumes ?? {})
  // Agents do not run CSI plugins, so CSI volumes are not available on any node.
  if (volumes.some((volume) => volume.Type === 'csi')) return () => 'missing CSI volumes'
  const shared = volumes.filter((volume) => !volume.PerAlloc)
  if (shared.length === 0) return undefined
  return (node) =>
    shared.every((volume) => hasVolume(node, volume, { source: volume.Source, findVolume }))
      ? undefined
      : MISSING
}

/** Like `volumeCheck`, for per-allocation volumes, whose names contain the name index. */
export function perAllocationVolumeCheck(
  group: TaskGroup,
  findVolume: FindVolume,
): ((node: PublicNode, index: number) => string | undefined) | undefined {
  const volumes = Object.values(group.Volumes ?? {}).filter(
    (volume) => volume.PerAlloc && volume.Type === 'host',
  )
  if (volumes.length === 0) return undefined
  return (node, index) =>
    volumes.every((volume) => {
      const source = `${volume.Source}[${index}]`
      return hasVolume(node, volume, { source, findVolume })
    })
      ? undefined
      : MISSING
}

interface VolumeLookup {
  readonly source: string
  readonly findVolume: FindVolume
}

function hasVolume(
  node: PublicNode,
  request: VolumeRequest,
  { source, findVolume }: VolumeLookup,
): boolean {
  const volume = hostVolumeOf(node, source)
  if (volume === undefined) return false
  if (volume.ID === '') return request.ReadOnly || !volume.ReadOnly
  const dynamicVolume = findVolume(volume.ID)
  return (
    dynamicVolume?.NodeID === node.ID &&
    dynamicVolume.State === 'ready' &&
    offersCapability(dynamicVolume, request)
  )
}

/** Host volume of the node by name. */
export function hostVolumeOf({ HostVolumes }: PublicNode, source: string) {
  const volumes = HostVolumes ?? {}
  return Object.hasOwn(volumes, source) ? volumes[source] : undefined
}

/** True if a capability of the volume matches the requested access and attachment modes. */
function offersCapability(
  { RequestedCapabilities }: HostVolumeRecord,
  request: VolumeRequest,
): boolean {
  const defaultAccessMode = request.ReadOnly ? 'single-node-reader-only' : 'single-node-writer'
  const access = request.AccessMode || defaultAccessMode
  const attachment = request.AttachmentMode || 'file-system'
  return (RequestedCapabilities ?? []).some(
    ({ AccessMode, AttachmentMode }) => AccessMode === access && AttachmentMode === attachment,
  )
}

/**
 * Checks whether nodes can run a group, regardless of capacity. Results are cached per node class.
 */
export interface FeasibilityChecker {
  readonly rules: readonly FeasibilityRule[]
  /** First violated rule, as the label under which filtered nodes are counted. */
  readonly reasonFor: FeasibilityCheck
  /** True if no node of the class can run the group. */
  readonly isClassIneligible: (node: PublicNode) => boolean
  /** True if all rules depend on the class alone. */
  readonly isDecidedByClass: boolean
  /** True if a constraint uses a property in which nodes of a class may differ. */
  readonly escapesComputedClass: boolean
}

/** A violated rule and its position in evaluation order. */
interface Rejection {
  readonly position: number
  readonly reason: string
}

/**
 * Evaluates rules once per node class where the class decides; the reason is cached, so that every
 * node is counted under it.
 */
export function newFeasibilityChecker(
  job: Job,
  group: TaskGroup,
  findVolume: FindVolume,
): FeasibilityChecker {
  const rules = feasibilityRules(job, group, findVolume)
  const ordered = rules.map((rule, order) => ({ rule, order }))
  const isDecidedByClass = ordered.filter(({ rule }) => rule.isDecidedByClass)
  const perNodeRules = ordered.filter(({ rule }) => !rule.isDecidedByClass)
  const byClass = cachedByClass((node) => firstRejection(isDecidedByClass, node))
  return {
    rules,
    reasonFor: (node) => {
      const classRejection = byClass(node)
      if (perNodeRules.length === 0) return classRejection?.reason
      const nodeRejection = firstRejection(perNodeRules, node)
      if (nodeRejection === undefined) return classRejection?.reason
      return classRejection === undefined || nodeRejection.position < classRejection.position
        ? nodeRejection.reason
        : classRejection.reason
    },
    isClassIneligible: (node) => byClass(node) !== undefined,
    isDecidedByClass: perNodeRules.length === 0,
    escapesComputedClass: perNodeRules.some(({ rule }) => rule.rule === 'constraint'),
  }
}

function firstRejection(
  rules: readonly { readonly rule: FeasibilityRule; readonly order: number }[],
  node: PublicNode,
): Rejection | undefined {
  for (const { rule, order } of rules) {
    const reason = rule.check(node)
    if (reason !== undefined) return { position: order, reason }
  }
  return undefined
}

function cachedByClass(
  check: (node: PublicNode) => Rejection | undefined,
): (node: PublicNode) => Rejection | undefined {
  const cache = new Map<string, Rejection | undefined>()
  return (node) => {
    const nodeClass = node.ComputedClass
    if (nodeClass === '') return check(node)
    const cached = cache.get(nodeClass)
    if (cached !== undefined || cache.has(nodeClass)) return cached
    const rejection = check(node)
    cache.set(nodeClass, rejection)
    return rejection
  }
}
