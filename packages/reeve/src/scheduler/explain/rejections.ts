import type {
  ExplainScope,
  Job,
  PlacementReason,
  PlacementRefusal,
  PlacementRule,
  Shortfall,
  TaskGroup,
} from '@reeve/contract'
import { grouped } from '@reeve/kit/number.ts'
import type { Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { NodeUsage, PublicNode } from '../../model/index.ts'
import type { DistinctConstraint } from '../feasibility/distinct-constraints.ts'
import {
  type FeasibilityRule,
  type FindVolume,
  perAllocationVolumeCheck,
} from '../feasibility/feasibility-rules.ts'
import { isInDatacenters, isInPool } from '../feasibility/ready-nodes.ts'
import { roundScore } from '../ranking/score.ts'
import {
  exhaustedDimensions,
  type GroupRequirements,
  type ResourceShortage,
} from '../resources/resource-fit.ts'

/** Maximum number of nodes listed per rejection. */
const NODES_LISTED_MAX = 5

/** A node that rejects the allocation, with all its reasons. */
export interface RejectedNode {
  readonly node: PublicNode
  readonly reasons: readonly PlacementReason[]
  readonly distance: number
}

export function* refusingNodes(
  nodes: readonly PublicNode[],
  reasonsOf: (node: PublicNode) => readonly PlacementReason[],
): Steps<readonly RejectedNode[]> {
  const rejected: RejectedNode[] = []
  for (const node of nodes) {
    yield
    const reasons = reasonsOf(node)
    if (reasons.length > 0) rejected.push({ node, reasons, distance: distanceOf(reasons) })
  }
  return rejected.toSorted((a, b) => a.distance - b.distance || compareText(a.node.ID, b.node.ID))
}

/** Groups nodes that reject for the same reasons; nearest to fitting first. */
export function groupRejections(
  rejected: readonly RejectedNode[],
  scope: ExplainScope,
): readonly PlacementRefusal[] {
  const groups = new Map<string, RejectedNode[]>()
  for (const node of rejected) {
    const key = scope === 'node' ? node.node.ID : rejectionKey(node)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [node])
    else group.push(node)
  }
  return [...groups.values()].flatMap((members) => {
    const [nearest] = members
    return nearest === undefined ? [] : [toPlacementRefusal(nearest, members, scope)]
  })
}

function rejectionKey({ node, reasons }: RejectedNode): string {
  const rules = reasons.map(({ Rule, Level, Task, Constraint }) => [Rule, Level, Task, Constraint])
  return JSON.stringify([node.ComputedClass, node.NodeClass, rules])
}

function toPlacementRefusal(
  nearest: RejectedNode,
  members: readonly RejectedNode[],
  scope: ExplainScope,
): PlacementRefusal {
  return {
    ComputedClass: scope === 'node' ? '' : nearest.node.ComputedClass,
    NodeClass: nearest.node.NodeClass,
    NodeCount: members.length,
    Nodes: members.slice(0, NODES_LISTED_MAX).map(({ node: { ID, Name } }) => ({ ID, Name })),
    Reasons: [...nearest.reasons],
    Distance: roundScore(nearest.distance),
  }
}

interface NodeReasonOptions {
  readonly job: Job
  readonly group: TaskGroup
  readonly ask: GroupRequirements
  readonly rules: readonly FeasibilityRule[]
  readonly distinct: readonly DistinctConstraint[]
  readonly usageOn: (nodeId: string) => NodeUsage
  readonly findVolume: FindVolume
  /** Name index of the explained allocation. */
  readonly index: number
}

/** Returns every rule that a node violates for one allocation, in evaluation order. */
export function nodeReasons(
  node: PublicNode,
  options: NodeReasonOptions,
): readonly PlacementReason[] {
  const { group, ask, rules, distinct, usageOn, index } = options
  const volumeProblem = perAllocationVolumeCheck(group, options.findVolume)?.(node, index)
  const unmetRules = rules.filter((rule) => rule.check(node) !== undefined)
  return [
    ...nodeStatusReasons(node, options.job),
    ...unmetRules.map((rule) => ruleReason(rule, node)),
    ...(volumeProblem === undefined ? [] : [newReason({ Rule: 'volume', Text: volumeProblem })]),
    ...distinct
      .filter((rule) => rule.check(node) !== undefined)
      .map((rule) => distinctRuleReason(rule, node)),
    ...exhaustedDimensions(node, ask, usageOn(node.ID))
      .filter((shortage) => !unmetRules.some((rule) => rule.rule === COVERED_BY[shortage.rule]))
      .map(shortageReason),
  ]
}

/** Rules that already report a missing resource, so that its shortage is not reported again. */
const COVERED_BY: Partial<Record<PlacementRule, PlacementRule>> = {
  device: 'device',
  port: 'network',
}

/** Violations of node status, eligibility, datacenter and pool. */
function nodeStatusReasons(node: PublicNode, job: Job): readonly PlacementReason[] {
  const reasons: PlacementReason[] = []
  const add = (Rule: PlacementReason['Rule'], Found: string, Text: string): void => {
    const Level = Rule.startsWith('node-') && Rule !== 'node-pool' ? 'node' : 'job'
    reasons.push(newReason({ Rule, Level, Found, Text }))
  }
  if (node.Status !== 'ready')
    add('node-status', node.Status, `the node is ${node.Status}, not ready`)
  if (node.DrainStrategy !== null || node.Drain)
    add('node-eligibility', 'draining', 'the node is draining')
  else if (node.SchedulingEligibility !== 'eligible')
    add('node-eligibility', node.SchedulingEligibility, `the node is ${node.SchedulingEligibility}`)
  if (!isInDatacenters(node, job))
    add(
      'datacenter',
      node.Datacenter,
      `datacenter ${node.Datacenter} is not one of ${job.Datacenters.join(', ')}`,
    )
  if (!isInPool(node, job))
    add('node-pool', node.NodePool, `node pool ${node.NodePool} is not ${job.NodePool}`)
  return reasons
}

function ruleReason(rule: FeasibilityRule, node: PublicNode): PlacementReason {
  const actual = rule.describeNode(node)
  const problem = rule.check(node) ?? ''
  const requirement = rule.requires === '' ? problem : `${problem} (${rule.requires})`
  const nodeValue = actual === '' ? 'the node has none' : `the node has ${actual}`
  return newReason({
    Rule: rule.rule,
    Level: rule.level,
    Task: rule.task,
    Constraint: rule.constraint,
    Found: actual,
    Text:
      rule.rule === 'constraint'
        ? `${requirement} must hold, and ${nodeValue}`
        : `${requirement}; ${nodeValue}${whyNot(rule, node)}`,
  })
}

/** Why the node does not have the driver, in its own words. */
function whyNot({ rule, requires }: FeasibilityRule, { Drivers }: PublicNode): string {
  const driver =
    rule === 'driver' && Object.hasOwn(Drivers, requires) ? Drivers[requires] : undefined
  return driver === undefined || driver.HealthDescription === ''
    ? ''
    : `; ${requires}: ${driver.HealthDescription}`
}

function distinctRuleReason(rule: DistinctConstraint, node: PublicNode): PlacementReason {
  const found = rule.describeNode(node)
  return newReason({
    Rule: rule.rule,
    Level: rule.level,
    Constraint: rule.constraint,
    Found: found,
    Text: distinctText(rule, found, node),
  })
}

function distinctText(rule: DistinctConstraint, found: string, node: PublicNode): string {
  if (rule.rule === 'volume') return rule.check(node) ?? ''
  if (rule.rule === 'distinct-hosts')
    return `hosts must be distinct, and the node has ${found} of the ${rule.level}`
  const problem = found === '' ? 'the node has none' : `${found} has as many as it may have`
  return `${rule.constraint?.LTarget ?? ''} must be distinct, and ${problem}`
}

function shortageReason(shortage: ResourceShortage): PlacementReason {
  const { rule, dimension, unit, required, free } = shortage
  const amount = (value: number): string =>
    unit === '' ? grouped(value) : `${grouped(value)} ${unit}`
  return newReason({
    Rule: rule,
    Shortfall: shortfallOf(shortage),
    Text:
      rule === 'port' || rule === 'device'
        ? dimension
        : `${amount(free)} of ${rule} free, ${amount(required)} requested`,
  })
}

function shortfallOf({ unit, required, free, capacity }: ResourceShortage): Shortfall {
  return { Unit: unit, Asked: required, Free: free, Capacity: capacity, Missing: required - free }
}

function newReason(
  fields: Pick<PlacementReason, 'Rule'> & Partial<PlacementReason>,
): PlacementReason {
  return {
    Level: 'group',
    Task: '',
    Constraint: null,
    Found: '',
    Shortfall: null,
    Text: '',
    ...fields,
  }
}

/**
 * Distance of a node from fitting: 1 per violated rule, and the missing share per exhausted
 * dimension.
 */
function distanceOf(reasons: readonly PlacementReason[]): number {
  return reasons.reduce((sum, { Shortfall: shortfall }) => {
    return sum + (shortfall === null ? 1 : shortfall.Missing / Math.max(1, shortfall.Asked))
  }, 0)
}
