import type { Constraint, Job, RuleLevel, TaskGroup } from '@reeve/contract'
import { targetReader, type PublicNode } from '../../model/index.ts'
import { isSystemJob } from '../job-kind.ts'
import type { Proposed } from '../proposed.ts'
import { constraintText, type NodeCheck } from './node-rules.ts'

/**
 * A rule about what else of the job is on a node, or on nodes like it. It follows the plan, so what
 * it says changes as the plan grows.
 */
export interface DistinctRule {
  readonly rule: 'distinct-hosts' | 'distinct-property' | 'volume'
  readonly level: RuleLevel
  /** Null for a rule that no constraint sets. */
  readonly constraint: Constraint | null
  readonly check: NodeCheck
  readonly found: (node: PublicNode) => string
  /**
   * Values of the property whose nodes are refused now and were not, or the reverse, since this was
   * last asked.
   */
  flipped(): readonly string[]
}

export interface DistinctContext {
  readonly job: Job
  readonly group: TaskGroup
  readonly proposed: Proposed
  readonly findNode: (id: string) => PublicNode | undefined
}

/**
 * `distinct_hosts` and `distinct_property` of a job and of one of its groups, those of hosts first.
 * A system job is on every host once, so its hosts are distinct anyway.
 */
export function distinctRules(context: DistinctContext): readonly DistinctRule[] {
  const { job, group } = context
  const all = [
    ...(job.Constraints ?? []).map((constraint) => ({ constraint, level: 'job' as const })),
    ...(group.Constraints ?? []).map((constraint) => ({ constraint, level: 'group' as const })),
  ]
  const hosts = all.filter(({ constraint: { Operand, RTarget } }) => {
    return Operand === 'distinct_hosts' && !isOff(RTarget) && !isSystemJob(job)
  })
  const properties = all.filter(({ constraint }) => constraint.Operand === 'distinct_property')
  return [
    ...hosts.map(({ constraint, level }) => hostRule(constraint, level, context)),
    ...properties.map(({ constraint, level }) => new PropertyRule(constraint, level, context)),
  ]
}

/** The first of the rules that a node does not meet. */
export function distinctReason(
  rules: readonly DistinctRule[],
  node: PublicNode,
): string | undefined {
  for (const { check } of rules) {
    const reason = check(node)
    if (reason !== undefined) return reason
  }
  return undefined
}

function isOff(flag: string): boolean {
  return ['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(flag)
}

function hostRule(
  constraint: Constraint,
  level: RuleLevel,
  { group, proposed }: DistinctContext,
): DistinctRule {
  const text = constraintText(constraint)
  const scope = level === 'group' ? group.Name : undefined
  const countOn = (node: PublicNode): number => proposed.countOn(node.ID, scope)
  return {
    rule: 'distinct-hosts',
    level,
    constraint,
    check: (node) => (countOn(node) > 0 ? text : undefined),
    found: (node) => String(countOn(node)),
    flipped: () => [],
  }
}

/** So many allocations for each value of a property, and none where a node has no value. */
class PropertyRule implements DistinctRule {
  readonly rule = 'distinct-property'
  readonly level: RuleLevel
  readonly constraint: Constraint
  readonly #context: DistinctContext
  readonly #valueOn: (node: PublicNode) => string | undefined
  readonly #allowed: number
  readonly #text: string
  readonly #counts = new Map<string, number>()
  #seen = 0
  #flipped: string[] = []

  constructor(constraint: Constraint, level: RuleLevel, context: DistinctContext) {
    this.constraint = constraint
    this.level = level
    this.#context = context
    this.#valueOn = targetReader(constraint.LTarget)
    this.#allowed = constraint.RTarget === '' ? 1 : Number(constraint.RTarget)
    this.#text = constraintText(constraint)
  }

  readonly check = (node: PublicNode): string | undefined => {
    this.#follow()
    const value = this.#valueOn(node)
    return value === undefined || this.#isFull(value) ? this.#text : undefined
  }

  readonly found = (node: PublicNode): string => this.#valueOn(node) ?? ''

  flipped(): readonly string[] {
    this.#follow()
    const values = this.#flipped
    this.#flipped = []
    return values
  }

  #isFull(value: string): boolean {
    return (this.#counts.get(value) ?? 0) >= this.#allowed
  }

  #follow(): void {
    const { proposed, findNode, group } = this.#context
    for (; this.#seen < proposed.changes.length; this.#seen++) {
      const change = proposed.changes[this.#seen]
      if (change === undefined || (this.level === 'group' && change.group !== group.Name)) continue
      const node = findNode(change.nodeId)
      const value = node === undefined ? undefined : this.#valueOn(node)
      if (value === undefined) continue
      const before = this.#isFull(value)
      this.#counts.set(value, (this.#counts.get(value) ?? 0) + change.delta)
      if (this.#isFull(value) !== before) this.#flipped.push(value)
    }
  }
}
