import type { Job, TaskGroup } from '@reeve/contract'
import type { PublicNode } from '../../model/index.ts'
import { nodeRules, type NodeCheck, type NodeRule } from './node-rules.ts'
import type { FindVolume } from './volume-check.ts'

/** What decides whether nodes can run a group, whatever room they have. */
export interface NodeFilter {
  readonly rules: readonly NodeRule[]
  /** The first rule that is not met, as it is counted. */
  readonly reasonFor: NodeCheck
  /** Whether the node's class is refused: then no node of the class can run the group. */
  readonly refusesClass: (node: PublicNode) => boolean
  /** Whether nodes of one class are all refused for the same reason, or none of them is. */
  readonly decidedByClass: boolean
  /** A constraint names something that nodes of one class may differ in: classes decide nothing. */
  readonly escapesClasses: boolean
}

/** A rule that was not met, and its place among the rules. */
interface Refused {
  readonly order: number
  readonly reason: string
}

/**
 * Asks the rules once for each class of nodes where the class decides them; the reason is kept, so
 * that every node is counted under it.
 */
export function nodeFilter(job: Job, group: TaskGroup, findVolume: FindVolume): NodeFilter {
  const rules = nodeRules(job, group, findVolume)
  const ordered = rules.map((rule, order) => ({ rule, order }))
  const ofClass = ordered.filter(({ rule }) => rule.ofClass)
  const ofNode = ordered.filter(({ rule }) => !rule.ofClass)
  const byClass = cachedByClass((node) => firstRefusal(ofClass, node))
  return {
    rules,
    reasonFor: (node) => {
      const refused = byClass(node)
      if (ofNode.length === 0) return refused?.reason
      const own = firstRefusal(ofNode, node)
      if (own === undefined) return refused?.reason
      return refused === undefined || own.order < refused.order ? own.reason : refused.reason
    },
    refusesClass: (node) => byClass(node) !== undefined,
    decidedByClass: ofNode.length === 0,
    escapesClasses: ofNode.some(({ rule }) => rule.rule === 'constraint'),
  }
}

function firstRefusal(
  rules: readonly { readonly rule: NodeRule; readonly order: number }[],
  node: PublicNode,
): Refused | undefined {
  for (const { rule, order } of rules) {
    const reason = rule.check(node)
    if (reason !== undefined) return { order, reason }
  }
  return undefined
}

function cachedByClass(
  check: (node: PublicNode) => Refused | undefined,
): (node: PublicNode) => Refused | undefined {
  const known = new Map<string, Refused | undefined>()
  return (node) => {
    const name = node.ComputedClass
    if (name === '') return check(node)
    const refused = known.get(name)
    if (refused !== undefined || known.has(name)) return refused
    const found = check(node)
    known.set(name, found)
    return found
  }
}
