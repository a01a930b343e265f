import * as t from './shared-schemas.ts'
import { JobDiff } from './diff.ts'
import { Evaluation } from './evaluation.ts'
import { PlacementMetrics } from './metrics.ts'
import { PlanAnnotations } from './plan-annotations.ts'
import { JobPolicyOutcome } from './policy-verdict.ts'

/** Result of a dry run, which stores nothing and publishes no event. */
export const JobPlanResponse = t.Object(
  {
    Index: t.Index('`JobModifyIndex` of the stored job, 0 for a new one.'),
    JobModifyIndex: t.Index('Give it to the registration together with `EnforceIndex`.'),
    Annotations: PlanAnnotations,
    FailedTGAllocs: t.Nullable(t.MapOf(PlacementMetrics)),
    CreatedEvals: t.Nullable(t.Array(Evaluation)),
    Diff: t.Nullable(JobDiff),
    NextPeriodicLaunch: t.Timestamp('The zero time when the job is not periodic.'),
    Warnings: t.String(),
    PolicyVerdicts: t.Nullable(
      t.Array(JobPolicyOutcome, { description: 'Result of each policy; null when none applies.' }),
    ),
  },
  { $id: 'JobPlanResponse', description: 'Changes that registering the job would make.' },
)
export type JobPlanResponse = t.Infer<typeof JobPlanResponse>
