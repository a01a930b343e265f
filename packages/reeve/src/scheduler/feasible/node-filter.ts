import type { Job, TaskGroup } from '@reeve/contract'
import type { PublicNode } from '../../model/index.ts'
import { feasibilityRules, type FeasibilityCheck, type FeasibilityRule } from './node-rules.ts'
import type { FindVolume } from './volume-check.ts'

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
