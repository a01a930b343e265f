import * as t from './shared-schemas.ts'
import { ResourceTotals } from './allocated-resources.ts'

export const NodeScore = t.Named('NodeScore', {
  NodeID: t.String(),
  Scores: t.MapOf(t.Number()),
  NormScore: t.Number({ description: 'The mean of the scores that applied.' }),
})
export type NodeScore = t.Infer<typeof NodeScore>

export const PlacementMetrics = t.Named('PlacementMetrics', 'Metrics of one search for a node.', {
  NodesEvaluated: t.Integer({ description: 'Number of nodes evaluated.' }),
  NodesFiltered: t.Integer({ description: 'Nodes that a rule refused.' }),
  NodesInPool: t.Integer({ description: 'Ready nodes in the pool and datacenters.' }),
  NodePool: t.String(),
  NodesAvailable: t.MapOf(t.Integer({ description: 'Ready nodes by datacenter.' })),
  ClassFiltered: t.Nullable(t.MapOf(t.Integer())),
  ConstraintFiltered: t.Nullable(t.MapOf(t.Integer())),
  NodesExhausted: t.Integer({ description: 'Nodes without enough room.' }),
  ClassExhausted: t.Nullable(t.MapOf(t.Integer())),
  DimensionExhausted: t.Nullable(t.MapOf(t.Integer())),
  QuotaExhausted: t.Nullable(t.Array(t.String())),
  ResourcesExhausted: t.Nullable(t.MapOf(ResourceTotals)),
  Scores: t.Nullable(t.MapOf(t.Number({ description: 'By `<node id>.<scorer>`.' }))),
  ScoreMetaData: t.Nullable(t.Array(NodeScore, { description: 'The best nodes, best first.' })),
  AllocationTime: t.Nanoseconds('Time the search took.'),
  CoalescedFailures: t.Integer({ description: 'Further instances that were not tried.' }),
})
export type PlacementMetrics = t.Infer<typeof PlacementMetrics>
