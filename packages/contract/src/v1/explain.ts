import { Type } from 'typebox'
import { Named, Index, Nullable, Timestamp, type Infer } from '../schema.ts'
import { Constraint } from './constraint.ts'
import { PlacementMetrics } from './metrics.ts'
import { IntegerParameter } from './query.ts'

/**
 * Reasons why allocations are pending, and the smallest change that would place them. The shape is
 * specific to this product. The same pure search that places allocations computes it, so it
 * matches the scheduler's behaviour.
 */

/** Reasons why an allocation is not placed. */
export const INSTANCE_STATES = ['refused', 'delayed', 'held', 'queued'] as const
export type InstanceState = (typeof INSTANCE_STATES)[number]

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

export const JobFilePlace = Type.Object(
  { Line: Type.Integer(), Column: Type.Integer() },
  { $id: 'JobFilePlace', description: 'A place in the job file that a job was submitted with.' },
)
export type JobFilePlace = Infer<typeof JobFilePlace>

export const NodeName = Named('NodeName', { ID: Type.String(), Name: Type.String() })
export type NodeName = Infer<typeof NodeName>

export const Shortfall = Named('Shortfall', 'How far a node was from fitting in one dimension.', {
  Unit: Type.String({ description: '`MHz`, `MB` or empty for things that are counted.' }),
  Asked: Type.Number(),
  Free: Type.Number({ description: 'Left for this instance after what the node holds.' }),
  Capacity: Type.Number({ description: 'Total capacity of the node minus its reservation.' }),
  Missing: Type.Number({ description: '`Asked` less `Free`.' }),
})
export type Shortfall = Infer<typeof Shortfall>

export const PlacementReason = Named('PlacementReason', 'One rule that a node does not meet.', {
  Rule: Type.Enum(PLACEMENT_RULES),
  Level: Type.Enum(RULE_LEVELS),
  Task: Type.String({ description: 'The task that asks for it; empty above the task.' }),
  Constraint: Nullable(Constraint),
  Found: Type.String({ description: 'Value on the node; empty if it has none.' }),
  Shortfall: Nullable(Shortfall),
  Text: Type.String({ description: 'The rule as a sentence, with both values.' }),
})
export type PlacementReason = Infer<typeof PlacementReason>

export const PlacementRefusal = Type.Object(
  {
    ComputedClass: Type.String({ description: 'Class of the nodes; empty for one node.' }),
    NodeClass: Type.String(),
    NodeCount: Type.Integer({ description: 'Nodes refused for these reasons.' }),
    Nodes: Type.Array(NodeName, { description: 'Some of them, the nearest to fitting first.' }),
    Reasons: Type.Array(PlacementReason, { description: 'Every rule that is not met.' }),
    Distance: Type.Number({
      description:
        'How far the nearest of them is from fitting: 1 for each rule that is not met, and ' +
        'for each dimension the missing share of what was asked.',
    }),
  },
  { $id: 'PlacementRefusal', description: 'Nodes that refuse the instance for the same reasons.' },
)
export type PlacementRefusal = Infer<typeof PlacementRefusal>

export const ChangeStep = Named('ChangeStep', {
  Kind: Type.Enum(CHANGE_KINDS),
  Path: Type.String({
    description:
      'Field of the job, such as `TaskGroups[web].Tasks[api].Resources.MemoryMB`, or of the ' +
      'scheduler configuration.',
  }),
  NodeID: Type.String({ description: 'The node to change; empty for a change of the job.' }),
  From: Type.String(),
  To: Type.String(),
  Text: Type.String(),
  Place: Type.Optional(JobFilePlace),
})
export type ChangeStep = Infer<typeof ChangeStep>

export const PlacementChange = Type.Object(
  {
    Steps: Type.Array(ChangeStep, { description: 'All of them are needed.' }),
    Places: Type.Integer({ description: 'How many of the unplaced instances it would place.' }),
    Nodes: Type.Array(NodeName, { description: 'Where some of them would go.' }),
    Text: Type.String(),
  },
  { $id: 'PlacementChange', description: 'A change that would place instances of the group.' },
)
export type PlacementChange = Infer<typeof PlacementChange>

export const UnplacedInstance = Named('UnplacedInstance', {
  Name: Type.String({ description: '`<job>.<group>[<n>]`' }),
  NodeID: Type.String({ description: 'The node it is meant for; only for system jobs.' }),
  State: Type.Enum(INSTANCE_STATES, {
    description:
      '`refused`: no node takes it. `delayed`: it waits until `WaitUntil`. `held`: ' +
      'something other than its own room holds it back, as `Text` says: its deployment, others ' +
      'of its job. `queued`: its evaluation has not run.',
  }),
  WaitUntil: Timestamp('The zero time when it waits for no time.'),
  PreviousAllocation: Type.String({ description: 'The allocation that it replaces.' }),
  Text: Type.String(),
})
export type UnplacedInstance = Infer<typeof UnplacedInstance>

/**
 * Allocations of one group have the same requirements, so the rejections are given once per group.
 */
export const GroupExplanation = Named('GroupExplanation', {
  TaskGroup: Type.String(),
  Desired: Type.Integer(),
  Placed: Type.Integer(),
  Unplaced: Type.Integer(),
  Instances: Type.Array(UnplacedInstance),
  InstancesOmitted: Type.Integer({ description: 'Unplaced ones beyond `limit`.' }),
  NodesConsidered: Type.Integer({ description: 'All nodes, ready or not.' }),
  Refusals: Type.Array(PlacementRefusal, { description: 'The nearest to fitting first.' }),
  RefusalsOmitted: Type.Integer({ description: 'Those beyond `limit`.' }),
  Changes: Type.Array(PlacementChange, { description: 'The smallest first; empty when placed.' }),
  Metrics: Nullable(PlacementMetrics),
})
export type GroupExplanation = Infer<typeof GroupExplanation>

export const Explanation = Type.Object(
  {
    JobID: Type.String(),
    Namespace: Type.String(),
    JobVersion: Type.Integer(),
    EvalID: Type.String({ description: 'The evaluation that is explained, or the latest.' }),
    EvalStatus: Type.String(),
    Index: Index('It was worked out against this state; of many groups, the last against a later.'),
    Text: Type.String({ description: 'The answer in one sentence.' }),
    Groups: Type.Array(GroupExplanation, { description: 'Groups with unplaced instances.' }),
    GroupsOmitted: Type.Integer({
      description: 'Groups that were not evaluated, because the limit was reached.',
    }),
  },
  {
    $id: 'Explanation',
    description:
      'For each instance that is not placed: which rule of which nodes refuses it, how far ' +
      'they are from fitting, and the smallest change that would place it.',
  },
)
export type Explanation = Infer<typeof Explanation>

export const EXPLAIN_SCOPES = ['class', 'node'] as const
export type ExplainScope = (typeof EXPLAIN_SCOPES)[number]

export const explainQuery = {
  by: Type.Optional(
    Type.Enum(EXPLAIN_SCOPES, {
      description: 'One refusal for each class of equal nodes, or one for each node.',
      default: 'class',
    }),
  ),
  limit: IntegerParameter('Refusals and instances listed for each group; at most 1000.', 20),
}
