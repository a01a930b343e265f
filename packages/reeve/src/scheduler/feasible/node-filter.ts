import type { Constraint, Job, TaskGroup } from '@reeve/contract'
import { isUniqueTarget, operandTest, targetReader, type PublicNode } from '../../model/index.ts'
import { networkCheck } from './network-check.ts'
import { volumeCheck } from './volume-check.ts'

/** Says why a node cannot run the group; undefined when it can. */
export type NodeCheck = (node: PublicNode) => string | undefined

/** What decides whether nodes can run a group, whatever room they have. */
export interface NodeFilter {
  readonly reasonFor: NodeCheck
  /** Whether the node's class is refused: then no node of the class can run the group. */
  readonly refusesClass: (node: PublicNode) => boolean
  /** A constraint names something that nodes of one class may differ in: classes decide nothing. */
  readonly escapesClasses: boolean
}

/**
 * The checks of scheduling reference §9.1, steps 2 to 4. Constraints are evaluated once for each
 * class of nodes where the class decides them; the reason is kept, so that every node is counted
 * under it.
 */
export function nodeFilter(job: Job, group: TaskGroup): NodeFilter {
  const constraints = plainConstraints(job, group)
  const ofClass = constraints.filter((constraint) => !isUnique(constraint)).map(constraintCheck)
  const ofNode = constraints.filter(isUnique).map(constraintCheck)
  const byClass = cachedByClass(firstReason([driverCheck(group), ...ofClass]))
  const byNode = firstReason([
    ...ofNode,
    deviceCheck(group),
    networkCheck(group),
    volumeCheck(group),
  ])
  return {
    reasonFor: (node) => byClass(node) ?? byNode(node),
    refusesClass: (node) => byClass(node) !== undefined,
    escapesClasses: ofNode.length > 0,
  }
}

function plainConstraints(job: Job, group: TaskGroup): readonly Constraint[] {
  return [
    ...(job.Constraints ?? []),
    ...(group.Constraints ?? []),
    ...group.Tasks.flatMap((task) => task.Constraints ?? []),
  ].filter((constraint) => !constraint.Operand.startsWith('distinct_'))
}

function isUnique({ LTarget: left, RTarget: right }: Constraint): boolean {
  return isUniqueTarget(left) || isUniqueTarget(right)
}

function constraintCheck(constraint: Constraint): NodeCheck {
  const left = targetReader(constraint.LTarget)
  const right = targetReader(constraint.RTarget)
  const meets = operandTest(constraint.Operand)
  const text = constraintText(constraint)
  return (node) => (meets(left(node), right(node)) ? undefined : text)
}

/** Under this text filtered nodes are counted. */
export function constraintText({ LTarget, Operand, RTarget }: Constraint): string {
  return `${LTarget} ${Operand} ${RTarget}`.trim()
}

/**
 * Every driver of the group's tasks must be there and well. Drivers that are well are part of what
 * makes a class, so this is decided by class too.
 */
function driverCheck(group: TaskGroup): NodeCheck {
  const drivers = [...new Set(group.Tasks.map((task) => task.Driver))]
  const hasDriver = (node: PublicNode, name: string): boolean => {
    const driver = Object.hasOwn(node.Drivers, name) ? node.Drivers[name] : undefined
    return driver !== undefined && driver.Detected && driver.Healthy
  }
  return (node) => (drivers.every((name) => hasDriver(node, name)) ? undefined : 'missing drivers')
}

/** No agent reports devices or the layout of its memory, so what asks for them fits nowhere. */
function deviceCheck(group: TaskGroup): NodeCheck {
  const asks = group.Tasks.map((task) => task.Resources)
  if (asks.some((resources) => resources.Devices !== null)) return () => 'missing devices'
  if (asks.some((resources) => resources.NUMA?.Affinity === 'require'))
    return () => 'missing NUMA topology'
  return () => undefined
}

function firstReason(checks: readonly NodeCheck[]): NodeCheck {
  return (node) => {
    for (const check of checks) {
      const reason = check(node)
      if (reason !== undefined) return reason
    }
    return undefined
  }
}

function cachedByClass(check: NodeCheck): NodeCheck {
  const known = new Map<string, string | undefined>()
  return (node) => {
    const name = node.ComputedClass
    if (name === '') return check(node)
    if (!known.has(name)) known.set(name, check(node))
    return known.get(name)
  }
}
