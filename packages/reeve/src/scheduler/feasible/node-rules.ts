import type { Constraint, Job, PlacementRule, RuleLevel, Task, TaskGroup } from '@reeve/contract'
import { isUniqueTarget, operandTest, targetReader, type PublicNode } from '../../model/index.ts'
import { deviceAsks, offerDevices } from '../rank/devices.ts'
import { isolatedMode, networkCheck } from './network-check.ts'
import { volumeCheck, type FindVolume } from './volume-check.ts'

/** Says why a node cannot run the group; undefined when it can. */
export type NodeCheck = (node: PublicNode) => string | undefined

/**
 * One rule that a node must meet, whatever room it has. Placement asks until the first is not met;
 * an explanation asks them all.
 */
export interface NodeRule {
  readonly rule: PlacementRule
  /** Who set it. */
  readonly level: RuleLevel
  /** The task that did; empty above the task. */
  readonly task: string
  readonly constraint: Constraint | null
  /** Whether nodes of one class all meet it or all do not. */
  readonly ofClass: boolean
  /** The text under which refused nodes are counted. */
  readonly check: NodeCheck
  /** Names of what must be there, for people; empty where the text of `check` says it. */
  readonly asks: string
  /** What the node has there. */
  readonly found: (node: PublicNode) => string
}

/** The rules of feasibility, in the order in which they are checked. */
export function nodeRules(job: Job, group: TaskGroup, findVolume: FindVolume): readonly NodeRule[] {
  return [
    ...constraintRules(job.Constraints, 'job'),
    ...group.Tasks.map(driverRule),
    ...constraintRules(group.Constraints, 'group'),
    ...group.Tasks.flatMap((task) => constraintRules(task.Constraints, 'task', task.Name)),
    ...deviceRules(group),
    ...numaRules(group),
    ...optional('network', networkCheck(group), isolatedMode(group)),
    ...optional('volume', volumeCheck(group, findVolume), volumeSources(group).join(', ')),
  ]
}

/** Those that look at other allocations are elsewhere: `distinct.ts`. */
function constraintRules(
  constraints: readonly Constraint[] | null,
  level: RuleLevel,
  task = '',
): readonly NodeRule[] {
  return (constraints ?? [])
    .filter((constraint) => !constraint.Operand.startsWith('distinct_'))
    .map((constraint) => constraintRule(constraint, level, task))
}

function constraintRule(constraint: Constraint, level: RuleLevel, task: string): NodeRule {
  const left = targetReader(constraint.LTarget)
  const right = targetReader(constraint.RTarget)
  const meets = operandTest(constraint.Operand)
  const text = constraintText(constraint)
  return {
    rule: 'constraint',
    level,
    task,
    constraint,
    ofClass: !isUniqueTarget(constraint.LTarget) && !isUniqueTarget(constraint.RTarget),
    check: (node) => (meets(left(node), right(node)) ? undefined : text),
    asks: '',
    found: (node) => left(node) ?? '',
  }
}

/** Under this text filtered nodes are counted. */
export function constraintText({ LTarget, Operand, RTarget }: Constraint): string {
  return `${LTarget} ${Operand} ${RTarget}`.trim()
}

/**
 * The driver of each task must be there and well. Drivers that are well are part of what makes a
 * class.
 */
function driverRule({ Name: task, Driver: name }: Task): NodeRule {
  const find = ({ Drivers }: PublicNode) => {
    const driver = Object.hasOwn(Drivers, name) ? Drivers[name] : undefined
    return driver?.Detected === true ? driver : undefined
  }
  return {
    ...PLAIN_RULE,
    rule: 'driver',
    level: 'task',
    task,
    ofClass: true,
    check: (node) => (find(node)?.Healthy === true ? undefined : 'missing drivers'),
    asks: name,
    found: (node) => {
      const driver = find(node)
      if (driver === undefined) return healthyDrivers(node).join(', ')
      return driver.Healthy ? name : `${name} (unhealthy)`
    },
  }
}

function healthyDrivers({ Drivers }: PublicNode): readonly string[] {
  return Object.keys(Drivers).filter((name) => Drivers[name]?.Healthy === true)
}

/** Whether the node would have the devices if nobody held any: all that are well. */
function deviceRules(group: TaskGroup): readonly NodeRule[] {
  const asks = deviceAsks(group)
  const [first] = asks
  if (first === undefined) return []
  return [
    {
      ...PLAIN_RULE,
      rule: 'device',
      level: 'task',
      task: first.task,
      check: (node) =>
        offerDevices(asks, node, NOTHING_HELD) === undefined ? 'missing devices' : undefined,
      asks: deviceNames(group).join(', '),
      found: (node) =>
        (node.NodeResources.Devices ?? [])
          .map(({ Vendor, Type, Name }) => `${Vendor}/${Type}/${Name}`)
          .join(', '),
    },
  ]
}

function deviceNames(group: TaskGroup): readonly string[] {
  return group.Tasks.flatMap((task) => (task.Resources.Devices ?? []).map(({ Name }) => Name))
}

const NOTHING_HELD = { has: () => false }

/** No agent reports the layout of its memory, so what must know it fits nowhere. */
function numaRules(group: TaskGroup): readonly NodeRule[] {
  return group.Tasks.filter((task) => task.Resources.NUMA?.Affinity === 'require').map((task) => ({
    ...PLAIN_RULE,
    rule: 'device',
    level: 'task',
    task: task.Name,
    check: () => 'missing NUMA topology',
  }))
}

function volumeSources(group: TaskGroup): readonly string[] {
  return Object.values(group.Volumes ?? {}).map(({ Source }) => Source)
}

function optional(
  rule: PlacementRule,
  check: NodeCheck | undefined,
  asks = '',
): readonly NodeRule[] {
  return check === undefined ? [] : [{ ...PLAIN_RULE, rule, check, asks }]
}

const PLAIN_RULE = {
  level: 'group',
  task: '',
  constraint: null,
  ofClass: false,
  asks: '',
  found: () => '',
} as const
