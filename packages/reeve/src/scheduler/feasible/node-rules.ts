import type { Constraint, Job, PlacementRule, RuleLevel, Task, TaskGroup } from '@reeve/contract'
import { isUniqueTarget, operandTest, targetReader, type PublicNode } from '../../model/index.ts'
import { deviceRequirements, assignDevices } from '../rank/devices.ts'
import { isolatedMode, networkCheck } from './network-check.ts'
import { volumeCheck, type FindVolume } from './volume-check.ts'

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
export function feasibilityRules(
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
