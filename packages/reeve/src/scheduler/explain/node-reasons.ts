import type { Job, PlacementReason, PlacementRule, Shortfall, TaskGroup } from '@reeve/contract'
import { grouped } from '@reeve/kit/number.ts'
import type { NodeUsage, PublicNode } from '../../model/index.ts'
import { isInDatacenters, isInPool } from '../feasible/base-set.ts'
import type { DistinctRule } from '../feasible/distinct.ts'
import type { NodeRule } from '../feasible/node-rules.ts'
import { perAllocationVolumeCheck, type FindVolume } from '../feasible/volume-check.ts'
import type { GroupAsk } from '../rank/group-ask.ts'
import { shortages, type Shortage } from '../rank/room.ts'

export interface ReasonOptions {
  readonly job: Job
  readonly group: TaskGroup
  readonly ask: GroupAsk
  readonly rules: readonly NodeRule[]
  readonly distinct: readonly DistinctRule[]
  readonly usageOn: (nodeId: string) => NodeUsage
  readonly findVolume: FindVolume
  /** Index of the instance that is explained. */
  readonly index: number
}

/** Every rule that a node does not meet for one instance, in the order in which they are tried. */
export function nodeReasons(node: PublicNode, options: ReasonOptions): readonly PlacementReason[] {
  const { group, ask, rules, distinct, usageOn, index } = options
  const ownVolume = perAllocationVolumeCheck(group, options.findVolume)?.(node, index)
  const unmet = rules.filter((rule) => rule.check(node) !== undefined)
  return [
    ...standingReasons(node, options.job),
    ...unmet.map((rule) => ruleReason(rule, node)),
    ...(ownVolume === undefined ? [] : [reason({ Rule: 'volume', Text: ownVolume })]),
    ...distinct
      .filter((rule) => rule.check(node) !== undefined)
      .map((rule) => distinctReason(rule, node)),
    ...shortages(node, ask, usageOn(node.ID))
      .filter((shortage) => !unmet.some((rule) => rule.rule === SAID_BY[shortage.rule]))
      .map(roomReason),
  ]
}

/** What a node does not have at all is not free either: that is said once, by the rule. */
const SAID_BY: Partial<Record<PlacementRule, PlacementRule>> = { device: 'device', port: 'network' }

/** What a node must be before anything else is asked of it. */
function standingReasons(node: PublicNode, job: Job): readonly PlacementReason[] {
  const reasons: PlacementReason[] = []
  const add = (Rule: PlacementReason['Rule'], Found: string, Text: string): void => {
    const Level = Rule.startsWith('node-') && Rule !== 'node-pool' ? 'node' : 'job'
    reasons.push(reason({ Rule, Level, Found, Text }))
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

function ruleReason(rule: NodeRule, node: PublicNode): PlacementReason {
  const found = rule.found(node)
  const refused = rule.check(node) ?? ''
  const asked = rule.asks === '' ? refused : `${refused} (${rule.asks})`
  const has = found === '' ? 'the node has none' : `the node has ${found}`
  return reason({
    Rule: rule.rule,
    Level: rule.level,
    Task: rule.task,
    Constraint: rule.constraint,
    Found: found,
    Text:
      rule.rule === 'constraint'
        ? `${asked} must hold, and ${has}`
        : `${asked}; ${has}${whyNot(rule, node)}`,
  })
}

/** Why the node does not have the driver, in its own words. */
function whyNot({ rule, asks }: NodeRule, { Drivers }: PublicNode): string {
  const driver = rule === 'driver' && Object.hasOwn(Drivers, asks) ? Drivers[asks] : undefined
  return driver === undefined || driver.HealthDescription === ''
    ? ''
    : `; ${asks}: ${driver.HealthDescription}`
}

function distinctReason(rule: DistinctRule, node: PublicNode): PlacementReason {
  const found = rule.found(node)
  return reason({
    Rule: rule.rule,
    Level: rule.level,
    Constraint: rule.constraint,
    Found: found,
    Text: distinctText(rule, found, node),
  })
}

function distinctText(rule: DistinctRule, found: string, node: PublicNode): string {
  if (rule.rule === 'volume') return rule.check(node) ?? ''
  if (rule.rule === 'distinct-hosts')
    return `hosts must be distinct, and the node has ${found} of the ${rule.level}`
  const what = found === '' ? 'the node has none' : `${found} has as many as it may have`
  return `${rule.constraint?.LTarget ?? ''} must be distinct, and ${what}`
}

function roomReason(shortage: Shortage): PlacementReason {
  const { rule, dimension, unit, asked, free } = shortage
  const amount = (value: number): string =>
    unit === '' ? grouped(value) : `${grouped(value)} ${unit}`
  return reason({
    Rule: rule,
    Shortfall: shortfallOf(shortage),
    Text:
      rule === 'port' || rule === 'device'
        ? dimension
        : `${amount(free)} of ${rule} free, ${amount(asked)} requested`,
  })
}

function shortfallOf({ unit, asked, free, capacity }: Shortage): Shortfall {
  return { Unit: unit, Asked: asked, Free: free, Capacity: capacity, Missing: asked - free }
}

function reason(fields: Pick<PlacementReason, 'Rule'> & Partial<PlacementReason>): PlacementReason {
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

/** 1 for each rule that is not met, and for each dimension the missing share of what was asked. */
export function distanceOf(reasons: readonly PlacementReason[]): number {
  return reasons.reduce((sum, { Shortfall: short }) => {
    return sum + (short === null ? 1 : short.Missing / Math.max(1, short.Asked))
  }, 0)
}
