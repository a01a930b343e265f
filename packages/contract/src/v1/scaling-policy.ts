import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, MapOf, Nullable, type Shape } from '../shape.ts'
import { denied, ok, refused } from './answer.ts'
import { Opaque } from './identifier.ts'
import { blocking, BlockingQuery, common, Text } from './query.ts'

const stubFields = {
  ID: Type.String({ description: 'Given at registration, kept across versions of the job.' }),
  Enabled: Type.Boolean({ default: true }),
  Type: Type.String({ description: '`horizontal`, `vertical_cpu` or `vertical_mem`.' }),
  Target: MapOf(Type.String()),
  CreateIndex: Index(),
  ModifyIndex: Index(),
}

/**
 * Reference §4.2, `Scaling`: the bounds of a group's count, and the policy an autoscaler follows.
 */
export const ScalingPolicy = Type.Object(
  {
    ...stubFields,
    Policy: Nullable(Opaque('Settings for the autoscaler; stored, never read.')),
    Min: Type.Integer(),
    Max: Type.Integer(),
  },
  { $id: 'ScalingPolicy', description: 'Bounds of a count, and what an autoscaler is told.' },
)
export type ScalingPolicy = Shape<typeof ScalingPolicy>

export const ScalingPolicyStub = Type.Object(stubFields, {
  $id: 'ScalingPolicyStub',
  description: 'A scaling policy in a list.',
})
export type ScalingPolicyStub = Shape<typeof ScalingPolicyStub>

export const scalingPolicyRoutes = {
  listScalingPolicies: route({
    id: 'listScalingPolicies',
    methods: ['GET'],
    path: '/v1/scaling/policies',
    summary: 'List the scaling policies of the jobs in a namespace.',
    section: 'Scaling policies',
    query: Type.Object({
      ...common,
      ...blocking,
      job: Text('Only policies of this job.'),
      type: Text('Only policies of this type.'),
    }),
    answers: {
      200: ok(Type.Array(ScalingPolicyStub), 'The policies.'),
      403: denied,
    },
    blocking: true,
    needs: 'namespace:list-scaling-policies, or namespace:list-jobs and namespace:read-job',
  }),
  readScalingPolicy: route({
    id: 'readScalingPolicy',
    methods: ['GET'],
    path: '/v1/scaling/policy/:policy_id',
    summary: 'Read one scaling policy.',
    section: 'Scaling policies',
    params: Type.Object({ policy_id: Type.String() }),
    query: BlockingQuery,
    answers: {
      200: ok(ScalingPolicy, 'The policy.'),
      403: denied,
      404: refused('`policy not found`'),
    },
    blocking: true,
    needs: 'namespace:read-scaling-policy, or namespace:list-jobs and namespace:read-job',
  }),
} as const
