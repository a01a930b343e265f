import * as t from './shared-schemas.ts'
import { blockingRead, routes } from './define.ts'

const stubFields = {
  ID: t.String({ description: 'Given at registration, kept across versions of the job.' }),
  Enabled: t.Boolean({ default: true }),
  Type: t.String({ description: '`horizontal`, `vertical_cpu` or `vertical_mem`.' }),
  Target: t.MapOf(t.String()),
  CreateIndex: t.Index(),
  ModifyIndex: t.Index(),
}

/** The bounds of a group's count, and the policy an autoscaler follows. */
export const ScalingPolicy = t.Object(
  {
    ...stubFields,
    Policy: t.Nullable(t.OpaqueObject('Settings for the autoscaler; stored, never read.')),
    Min: t.Integer(),
    Max: t.Integer(),
  },
  { $id: 'ScalingPolicy', description: 'Bounds of a count, and settings for an autoscaler.' },
)
export type ScalingPolicy = t.Infer<typeof ScalingPolicy>

export const ScalingPolicyStub = t.Named(
  'ScalingPolicyStub',
  'A scaling policy in a list.',
  stubFields,
)
export type ScalingPolicyStub = t.Infer<typeof ScalingPolicyStub>

export const scalingPolicyRoutes = routes('Scaling policies', {
  listScalingPolicies: blockingRead('/scaling/policies', {
    summary: 'List the scaling policies of the jobs in a namespace.',
    query: {
      job: t.TextParameter('Only policies of this job.'),
      type: t.TextParameter('Only policies of this type.'),
    },
    returns: t.jsonResponse(t.Array(ScalingPolicyStub), 'The policies.'),
    needs: 'namespace:list-scaling-policies, or namespace:list-jobs and namespace:read-job',
  }),
  readScalingPolicy: blockingRead('/scaling/policy/:policy_id', {
    summary: 'Read one scaling policy.',
    returns: t.jsonResponse(ScalingPolicy, 'The policy.'),
    needs: 'namespace:read-scaling-policy, or namespace:list-jobs and namespace:read-job',
  }),
})
