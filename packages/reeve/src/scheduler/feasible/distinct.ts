import type { Constraint, Job, TaskGroup } from '@reeve/contract'
import { targetReader, type PublicNode, type TargetReader } from '../../model/index.ts'
import type { Proposed } from '../proposed.ts'
import { constraintText } from './node-filter.ts'

/**
 * Says why a node is refused because of what else of the job is placed; undefined when it is not.
 */
export type DistinctCheck = (node: PublicNode) => string | undefined

export interface DistinctContext {
  readonly job: Job
  readonly group: TaskGroup
  readonly proposed: Proposed
  readonly findNode: (id: string) => PublicNode | undefined
}

/**
 * `distinct_hosts` and `distinct_property` (scheduling reference §9.2) of a job and of one of its
 * groups. They look at the plan so far, so they are asked anew for every placement. Undefined when
 * there are none.
 */
export function distinctCheck(context: DistinctContext): DistinctCheck | undefined {
  const { job, group } = context
  const checks = [
    ...checksOf(job.Constraints, undefined, context),
    ...checksOf(group.Constraints, group.Name, context),
  ]
  if (checks.length === 0) return undefined
  return (node) => {
    for (const check of checks) {
      const reason = check(node)
      if (reason !== undefined) return reason
    }
    return undefined
  }
}

/** `scope`: whose allocations count, those of one group or of the whole job. */
function checksOf(
  constraints: readonly Constraint[] | null,
  scope: string | undefined,
  context: DistinctContext,
): readonly DistinctCheck[] {
  return (constraints ?? []).flatMap((constraint) => {
    if (constraint.Operand === 'distinct_hosts')
      return isOff(constraint) ? [] : [hostCheck(constraint, scope, context.proposed)]
    if (constraint.Operand === 'distinct_property')
      return [propertyCheck(constraint, scope, context)]
    return []
  })
}

function isOff({ RTarget: flag }: Constraint): boolean {
  return ['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(flag)
}

function hostCheck(
  constraint: Constraint,
  scope: string | undefined,
  proposed: Proposed,
): DistinctCheck {
  const text = constraintText(constraint)
  return (node) => (proposed.countOn(node.ID, scope) > 0 ? text : undefined)
}

function propertyCheck(
  constraint: Constraint,
  scope: string | undefined,
  { proposed, findNode }: DistinctContext,
): DistinctCheck {
  const valueOf = targetReader(constraint.LTarget)
  const allowed = constraint.RTarget === '' ? 1 : Number(constraint.RTarget)
  const text = constraintText(constraint)
  const used = propertyUse(valueOf, scope, { proposed, findNode })
  return (node) => {
    const value = valueOf(node)
    return value === undefined || used(value) >= allowed ? text : undefined
  }
}

/** How many allocations stand on nodes with a value; follows the plan as it grows. */
function propertyUse(
  valueOf: TargetReader,
  scope: string | undefined,
  { proposed, findNode }: Pick<DistinctContext, 'proposed' | 'findNode'>,
): (value: string) => number {
  const counts = new Map<string, number>()
  let seen = 0
  return (value) => {
    for (; seen < proposed.changes.length; seen++) {
      const change = proposed.changes[seen]
      const node = change === undefined ? undefined : findNode(change.nodeId)
      const held = node === undefined ? undefined : valueOf(node)
      if (change === undefined || held === undefined) continue
      if (scope === undefined || change.group === scope)
        counts.set(held, (counts.get(held) ?? 0) + change.delta)
    }
    return counts.get(value) ?? 0
  }
}
