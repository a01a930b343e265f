import { Type } from 'typebox'
import { Named, MapOf, Nanoseconds, Nullable, type Infer } from '../schema.ts'
import { ResourceTotals } from './allocated-resources.ts'

export const NodeScore = Named('NodeScore', {
  NodeID: Type.String(),
  Scores: MapOf(Type.Number()),
  NormScore: Type.Number({ description: 'The mean of the scores that applied.' }),
})
export type NodeScore = Infer<typeof NodeScore>

export const PlacementMetrics = Named('PlacementMetrics', 'Metrics of one search for a node.', {
  NodesEvaluated: Type.Integer({ description: 'Number of nodes evaluated.' }),
  NodesFiltered: Type.Integer({ description: 'Nodes that a rule refused.' }),
  NodesInPool: Type.Integer({ description: 'Ready nodes in the pool and datacenters.' }),
  NodePool: Type.String(),
  NodesAvailable: MapOf(Type.Integer({ description: 'Ready nodes by datacenter.' })),
  ClassFiltered: Nullable(MapOf(Type.Integer())),
  ConstraintFiltered: Nullable(MapOf(Type.Integer())),
  NodesExhausted: Type.Integer({ description: 'Nodes without enough room.' }),
  ClassExhausted: Nullable(MapOf(Type.Integer())),
  DimensionExhausted: Nullable(MapOf(Type.Integer())),
  QuotaExhausted: Nullable(Type.Array(Type.String())),
  ResourcesExhausted: Nullable(MapOf(ResourceTotals)),
  Scores: Nullable(MapOf(Type.Number({ description: 'By `<node id>.<scorer>`.' }))),
  ScoreMetaData: Nullable(Type.Array(NodeScore, { description: 'The best nodes, best first.' })),
  AllocationTime: Nanoseconds('Time the search took.'),
  CoalescedFailures: Type.Integer({ description: 'Further instances that were not tried.' }),
})
export type PlacementMetrics = Infer<typeof PlacementMetrics>
