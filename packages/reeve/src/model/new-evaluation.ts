import type { Evaluation, Trigger, Job } from '@reeve/contract'
import { nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'

interface EvaluationOptions {
  readonly id: string
  readonly trigger: Trigger
  readonly timeMs: number
  /** Modify index of the job after the commit that contains both. */
  readonly jobModifyIndex: number
  /** 0 or absent: the job's priority. */
  readonly priority?: number | undefined
}

/** Creates a pending evaluation of a job. The store sets its indexes. */
export function newEvaluation(job: Job, options: EvaluationOptions): Evaluation {
  return {
    ID: options.id,
    Namespace: job.Namespace,
    Priority: options.priority || job.Priority,
    Type: job.Type,
    TriggeredBy: options.trigger,
    JobID: job.ID,
    JobModifyIndex: options.jobModifyIndex,
    NodeID: '',
    NodeModifyIndex: 0,
    DeploymentID: '',
    Status: 'pending',
    StatusDescription: '',
    Wait: 0,
    WaitUntil: ZERO_TIME,
    NextEval: '',
    PreviousEval: '',
    BlockedEval: '',
    RelatedEvals: null,
    FailedTGAllocs: null,
    PlanAnnotations: null,
    ClassEligibility: null,
    QuotaLimitReached: '',
    EscapedComputedClass: false,
    AnnotatePlan: false,
    QueuedAllocations: null,
    SnapshotIndex: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
    CreateTime: nsFromMs(options.timeMs),
    ModifyTime: nsFromMs(options.timeMs),
  }
}
