import * as t from './shared-schemas.ts'
import { Constraint } from './constraint.ts'
import { PlacementMetrics } from './metrics.ts'

/**
 * Reasons why allocations are pending, and the smallest change that would place them. The shape is
 * specific to this product. The same pure search that places allocations computes it, so it
 * matches the scheduler's behaviour.
 */

/** Why an allocation is not placed. */
export const UNPLACED_STATES = ['refused', 'delayed', 'held', 'queued'] as const
export type UnplacedState = (typeof UNPLACED_STATES)[number]

/** Rules that can reject a node, in the order of their evaluation. */
export const PLACEMENT_RULES = [
  'node-status',
  'node-eligibility',
  'datacenter',
  'node-pool',
  'driver',
  'constraint',
  'device',
  'network',
  'volume',
  'distinct-hosts',
  'distinct-property',
  'quota',
  'cpu',
  'cores',
  'memory',
  'disk',
  'port',
  'max-allocations',
] as const
export type PlacementRule = (typeof PLACEMENT_RULES)[number]

/** Where the rule is set: a level of the job, or the node. */
export const RULE_LEVELS = ['job', 'group', 'task', 'node'] as const
export type RuleLevel = (typeof RULE_LEVELS)[number]

/** Kinds of steps that a suggested change consists of. */
export const CHANGE_KINDS = [
  'edit-job',
  'edit-node',
  'free-capacity',
  'set-scheduler',
  'add-node',
] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

export const JobFilePlace = t.Object(
  { Line: t.Integer(), Column: t.Integer() },
  { $id: 'JobFilePlace', description: 'A position in the job file that a job was submitted with.' },
)
export type JobFilePlace = t.Infer<typeof JobFilePlace>

export const NodeName = t.Named('NodeName', { ID: t.String(), Name: t.String() })

export const Shortfall = t.Named('Shortfall', 'How far a node was from fitting in one dimension.', {
  Unit: t.String({ description: '`MHz`, `MB` or empty for things that are counted.' }),
  Asked: t.Number(),
  Free: t.Number({ description: 'Available for this allocation besides those on the node.' }),
  Capacity: t.Number({ description: 'Total capacity of the node minus its reservation.' }),
  Missing: t.Number({ description: '`Asked` less `Free`.' }),
})
export type Shortfall = t.Infer<typeof Shortfall>

export const PlacementReason = t.Named('PlacementReason', 'One rule that a node does not meet.', {
  Rule: t.Enum(PLACEMENT_RULES),
  Level: t.Enum(RULE_LEVELS),
  Task: t.String({
    description: 'The task with the requirement; empty for requirements of the group or job.',
  }),
  Constraint: t.Nullable(Constraint),
  Found: t.String({ description: 'Value on the node; empty if it has none.' }),
  Shortfall: t.Nullable(Shortfall),
  Text: t.String({ description: 'The rule as a sentence, with both values.' }),
})
export type PlacementReason = t.Infer<typeof PlacementReason>

export const PlacementRefusal = t.Object(
  {
    ComputedClass: t.String({ description: 'Class of the nodes; empty for one node.' }),
    NodeClass: t.String(),
    NodeCount: t.Integer({ description: 'Number of nodes rejected for these reasons.' }),
    Nodes: t.Array(NodeName, { description: 'Some of these nodes, the closest to fitting first.' }),
    Reasons: t.Array(PlacementReason, { description: 'All rules that are not met.' }),
    Distance: t.Number({
      description:
        'How far the closest of the nodes is from fitting: 1 for each rule that is not met, plus ' +
        'the missing share of the request for each resource.',
    }),
  },
  {
    $id: 'PlacementRefusal',
    description: 'Nodes that reject the allocation for the same reasons.',
  },
)
export type PlacementRefusal = t.Infer<typeof PlacementRefusal>

export const ChangeStep = t.Named('ChangeStep', {
  Kind: t.Enum(CHANGE_KINDS),
  Path: t.String({
    description:
      'Field of the job, such as `TaskGroups[web].Tasks[api].Resources.MemoryMB`, or of the ' +
      'scheduler configuration.',
  }),
  NodeID: t.String({ description: 'The node to change; empty for a change of the job.' }),
  From: t.String(),
  To: t.String(),
  Text: t.String(),
  Place: t.Optional(JobFilePlace),
})
export type ChangeStep = t.Infer<typeof ChangeStep>

export const PlacementChange = t.Object(
  {
    Steps: t.Array(ChangeStep, { description: 'All of them are needed.' }),
    Places: t.Integer({
      description: 'Number of unplaced allocations that the change would place.',
    }),
    Nodes: t.Array(NodeName, { description: 'Some of the nodes that they would be placed on.' }),
    Text: t.String(),
  },
  { $id: 'PlacementChange', description: 'A change that would place allocations of the group.' },
)
export type PlacementChange = t.Infer<typeof PlacementChange>

export const UnplacedInstance = t.Named('UnplacedInstance', {
  Name: t.String({ description: '`<job>.<group>[<n>]`' }),
  NodeID: t.String({ description: 'The node of the allocation; only for system jobs.' }),
  State: t.Enum(UNPLACED_STATES, {
    description:
      '`refused`: every node rejects it. `delayed`: it waits until `WaitUntil`. `held`: ' +
      'it waits for its deployment or for other allocations of the job, see `Text`. ' +
      '`queued`: its evaluation has not run.',
  }),
  WaitUntil: t.Timestamp('The zero time if it is not delayed.'),
  PreviousAllocation: t.String({ description: 'The allocation that it replaces.' }),
  Text: t.String(),
})
export type UnplacedInstance = t.Infer<typeof UnplacedInstance>

/**
 * Allocations of one group have the same requirements, so the rejections are given once per group.
 */
export const GroupExplanation = t.Named('GroupExplanation', {
  TaskGroup: t.String(),
  Desired: t.Integer(),
  Placed: t.Integer(),
  Unplaced: t.Integer(),
  Instances: t.Array(UnplacedInstance),
  InstancesOmitted: t.Integer({ description: 'Number of unplaced allocations beyond `limit`.' }),
  NodesConsidered: t.Integer({ description: 'All nodes, ready or not.' }),
  Refusals: t.Array(PlacementRefusal, { description: 'The closest to fitting first.' }),
  RefusalsOmitted: t.Integer({ description: 'Number of rejections beyond `limit`.' }),
  Changes: t.Array(PlacementChange, {
    description: 'The smallest first; empty if all are placed.',
  }),
  Metrics: t.Nullable(PlacementMetrics),
})
export type GroupExplanation = t.Infer<typeof GroupExplanation>

export const Explanation = t.Object(
  {
    JobID: t.String(),
    Namespace: t.String(),
    JobVersion: t.Integer(),
    EvalID: t.String({ description: 'The evaluation that is explained, or the latest.' }),
    EvalStatus: t.String(),
    Index: t.Index('The explained state; with many groups, the last ones may be of a later state.'),
    Text: t.String({ description: 'Summary in one sentence.' }),
    Groups: t.Array(GroupExplanation, { description: 'Groups with unplaced allocations.' }),
    GroupsOmitted: t.Integer({
      description: 'Groups that were not evaluated, because the limit was reached.',
    }),
  },
  {
    $id: 'Explanation',
    description:
      'For each unplaced allocation: which rules of which nodes reject it, how far the nodes ' +
      'are from fitting, and the smallest change that would place it.',
  },
)
export type Explanation = t.Infer<typeof Explanation>

export const EXPLAIN_SCOPES = ['class', 'node'] as const
export type ExplainScope = (typeof EXPLAIN_SCOPES)[number]

export const explainQuery = {
  by: t.Optional(
    t.Enum(EXPLAIN_SCOPES, {
      description: 'One rejection for each class of equal nodes, or one for each node.',
      default: 'class',
    }),
  ),
  limit: t.IntegerParameter(
    'Rejections and unplaced allocations listed for each group; at most 1000.',
    20,
  ),
}
