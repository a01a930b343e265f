import type { Constraint, Job, RuleLevel, TaskGroup } from '@reeve/contract'
import { targetReader, type PublicNode } from '../../model/index.ts'
import { isSystemJob } from '../job-kind.ts'
import type { ProposedState } from '../proposed.ts'
import { constraintText, type FeasibilityCheck } from './node-rules.ts'

/**
 * A constraint that depends on the other allocations of the job. It follows the proposed state, so
 * its result changes as the plan grows.
 */
export interface DistinctConstraint {
  readonly rule: 'distinct-hosts' | 'distinct-property' | 'volume'
  readonly level: RuleLevel
  /** Null if the rule does not come from a constraint block. */
  readonly constraint: Constraint | null
  readonly check: FeasibilityCheck
  readonly describeNode: (node: PublicNode) => string
  /** Returns and clears the property values whose result changed since the last call. */
  takeChangedValues(): readonly string[]
}

export interface DistinctConstraintOptions {
  readonly job: Job
  readonly group: TaskGroup
  readonly proposed: ProposedState
  readonly findNode: (id: string) => PublicNode | undefined
}

/**
 * Constraints `distinct_hosts` and `distinct_property` of a job and one of its groups, hosts first.
 * System jobs place once per node, so `distinct_hosts` is implied.
 */
export function distinctConstraints(
  context: DistinctConstraintOptions,
): readonly DistinctConstraint[] {
  const { job, group } = context
  const all = [
    ...(job.Constraints ?? []).map((constraint) => ({ constraint, level: 'job' as const })),
    ...(group.Constraints ?? []).map((constraint) => ({ constraint, level: 'group' as const })),
  ]
  const hosts = all.filter(({ constraint: { Operand, RTarget } }) => {
    return Operand === 'distinct_hosts' && !isFalse(RTarget) && !isSystemJob(job)
  })
  const properties = all.filter(({ constraint }) => constraint.Operand === 'distinct_property')
  return [
    ...hosts.map(({ constraint, level }) => distinctHostsConstraint(constraint, level, context)),
    ...properties.map(
      ({ constraint, level }) => new DistinctPropertyConstraint(constraint, level, context),
    ),
  ]
}

/** Returns the first constraint that a node violates. */
export function firstViolation(
  rules: readonly DistinctConstraint[],
  node: PublicNode,
): string | undefined {
  for (const { check } of rules) {
    const reason = check(node)
    if (reason !== undefined) return reason
  }
  return undefined
}

function isFalse(flag: string): boolean {
  return ['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(flag)
}

function distinctHostsConstraint(
  constraint: Constraint,
  level: RuleLevel,
  { group, proposed }: DistinctConstraintOptions,
): DistinctConstraint {
  const label = constraintText(constraint)
  const scope = level === 'group' ? group.Name : undefined
  const countOn = (node: PublicNode): number => proposed.countOn(node.ID, scope)
  return {
    rule: 'distinct-hosts',
    level,
    constraint,
    check: (node) => (countOn(node) > 0 ? label : undefined),
    describeNode: (node) => String(countOn(node)),
    takeChangedValues: () => [],
  }
}

/** Limits the allocations per value of a property; nodes without a value are rejected. */
class DistinctPropertyConstraint implements DistinctConstraint {
  readonly rule = 'distinct-property'
  readonly level: RuleLevel
  readonly constraint: Constraint
  readonly #context: DistinctConstraintOptions
  readonly #valueOf: (node: PublicNode) => string | undefined
  readonly #maxPerValue: number
  readonly #label: string
  readonly #counts = new Map<string, number>()
  #changesApplied = 0
  #changedValues: string[] = []

  constructor(constraint: Constraint, level: RuleLevel, context: DistinctConstraintOptions) {
    this.constraint = constraint
    this.level = level
    this.#context = context
    this.#valueOf = targetReader(constraint.LTarget)
    this.#maxPerValue = constraint.RTarget === '' ? 1 : Number(constraint.RTarget)
    this.#label = constraintText(constraint)
  }

  readonly check = (node: PublicNode): string | undefined => {
    this.#applyProposedChanges()
    const value = this.#valueOf(node)
    return value === undefined || this.#isFull(value) ? this.#label : undefined
  }

  readonly describeNode = (node: PublicNode): string => this.#valueOf(node) ?? ''

  takeChangedValues(): readonly string[] {
    this.#applyProposedChanges()
    const values = this.#changedValues
    this.#changedValues = []
    return values
  }

  #isFull(value: string): boolean {
    return (this.#counts.get(value) ?? 0) >= this.#maxPerValue
  }

  #applyProposedChanges(): void {
    const { proposed, findNode, group } = this.#context
    for (; this.#changesApplied < proposed.changes.length; this.#changesApplied++) {
      const change = proposed.changes[this.#changesApplied]
      if (change === undefined || (this.level === 'group' && change.group !== group.Name)) continue
      const node = findNode(change.nodeId)
      const value = node === undefined ? undefined : this.#valueOf(node)
      if (value === undefined) continue
      const wasFull = this.#isFull(value)
      this.#counts.set(value, (this.#counts.get(value) ?? 0) + change.delta)
      if (this.#isFull(value) !== wasFull) this.#changedValues.push(value)
    }
  }
}
