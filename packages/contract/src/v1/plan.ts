import { Type } from 'typebox'
import { Index, MapOf, Nullable, Timestamp, type Infer } from '../schema.ts'
import { JobDiff } from './diff.ts'
import { Evaluation } from './evaluation.ts'
import { PlacementMetrics } from './metrics.ts'
import { PlanAnnotations } from './plan-annotations.ts'
import { JobPolicyOutcome } from './policy-verdict.ts'

/** Nothing is kept of it and no event is made. */
export const JobPlanResponse = Type.Object(
  {
    Index: Index('`JobModifyIndex` of the stored job, 0 for a new one.'),
    JobModifyIndex: Index('Give it to the registration together with `EnforceIndex`.'),
    Annotations: PlanAnnotations,
    FailedTGAllocs: Nullable(MapOf(PlacementMetrics)),
    CreatedEvals: Nullable(Type.Array(Evaluation)),
    Diff: Nullable(JobDiff),
    NextPeriodicLaunch: Timestamp('The zero time when the job is not periodic.'),
    Warnings: Type.String(),
    PolicyVerdicts: Nullable(
      Type.Array(JobPolicyOutcome, {
        description: 'Result of each policy; null when none applies.',
      }),
    ),
  },
  { $id: 'JobPlanResponse', description: 'Changes that registering the job would make.' },
)
export type JobPlanResponse = Infer<typeof JobPlanResponse>
