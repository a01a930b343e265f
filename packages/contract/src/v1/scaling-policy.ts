import { Type } from 'typebox'
import { routes } from '../route.ts'
import { blockingRead } from './define.ts'
import { Named, Index, MapOf, Nullable, type Infer } from '../schema.ts'
import { jsonResponse, OpaqueObject } from './shared-schemas.ts'
import { TextParameter } from './query.ts'

const stubFields = {
  ID: Type.String({ description: 'Given at registration, kept across versions of the job.' }),
  Enabled: Type.Boolean({ default: true }),
  Type: Type.String({ description: '`horizontal`, `vertical_cpu` or `vertical_mem`.' }),
  Target: MapOf(Type.String()),
  CreateIndex: Index(),
  ModifyIndex: Index(),
}

/** The bounds of a group's count, and the policy an autoscaler follows. */
export const ScalingPolicy = Type.Object(
  {
    ...stubFields,
    Policy: Nullable(OpaqueObject('Settings for the autoscaler; stored, never read.')),
    Min: Type.Integer(),
    Max: Type.Integer(),
  },
  { $id: 'ScalingPolicy', description: 'Bounds of a count, and settings for an autoscaler.' },
)
export type ScalingPolicy = Infer<typeof ScalingPolicy>

export const ScalingPolicyStub = Named(
  'ScalingPolicyStub',
  'A scaling policy in a list.',
  stubFields,
)
export type ScalingPolicyStub = Infer<typeof ScalingPolicyStub>

export const scalingPolicyRoutes = routes('Scaling policies', {
  listScalingPolicies: blockingRead('/scaling/policies', {
    summary: 'List the scaling policies of the jobs in a namespace.',
    query: {
      job: TextParameter('Only policies of this job.'),
      type: TextParameter('Only policies of this type.'),
    },
    returns: jsonResponse(Type.Array(ScalingPolicyStub), 'The policies.'),
    needs: 'namespace:list-scaling-policies, or namespace:list-jobs and namespace:read-job',
  }),
  readScalingPolicy: blockingRead('/scaling/policy/:policy_id', {
    summary: 'Read one scaling policy.',
    returns: jsonResponse(ScalingPolicy, 'The policy.'),
    errors: { 404: '`policy not found`' },
    needs: 'namespace:read-scaling-policy, or namespace:list-jobs and namespace:read-job',
  }),
})
