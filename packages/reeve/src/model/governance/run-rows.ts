import type { v2 } from '@reeve/contract'

/** Times of entering states, by `<state>-at`. */
export type StatusTimes = Readonly<Record<string, number>>

/** Author, time and comment of a policy override. */
export interface OverrideRecord {
  readonly byId: string
  /** Name at that time; absent in rows of earlier versions. */
  readonly byName?: string
  readonly atMs: number
  readonly comment: string | null
}

/** A decision about a run: who applied, discarded or canceled it, and why. */
export interface RunDecision extends OverrideRecord {
  readonly action: 'apply' | 'discard' | 'cancel'
}

/** A run: one plan that is evaluated by policies. */
export interface RunRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly planId: string
  readonly status: v2.RunStatus
  readonly statusMs: StatusTimes
  readonly message: string | null
  readonly source: string
  readonly commitSha: string | null
  readonly isDestroy: boolean
  readonly refresh: boolean
  readonly refreshOnly: boolean
  readonly planOnly: boolean
  readonly autoApply: boolean
  readonly allowEmptyApply: boolean
  readonly hasChanges: boolean
  readonly targetAddresses: readonly string[]
  readonly replaceAddresses: readonly string[]
  /** Values are not stored here: policies see only the names. */
  readonly variableNames: readonly string[]
  readonly createdMs: number
  readonly createdById: string
  /** Name at that time; absent in rows of earlier versions. */
  readonly createdByName?: string
  readonly decision: RunDecision | null
  /** The planned configuration; absent if the plan was uploaded. */
  readonly configurationVersionId?: string
  /** Absent if the run is planned and applied elsewhere. */
  readonly execution?: RunExecution
}

/** State of a run that is planned and applied as jobs of this cluster. */
export interface RunExecution {
  readonly applyId: string
  /** What queued the run; absent in rows of earlier versions, which were queued by users. */
  readonly trigger?: v2.RunTriggerReason
  /** Its logs are made of JSON lines; absent in rows of earlier versions, whose logs are. */
  readonly structuredLog?: boolean
  readonly savePlan: boolean
  readonly allowConfigGeneration: boolean
  readonly generatedConfiguration: boolean
  /** Variables of the run, as sealed JSON; null if there are none. */
  readonly variables: string | null
  /**
   * Version of the tool that planned and that applies, or that a plan-only run asks for. Absent
   * before the plan is submitted, if an image has its own tool, and in rows of earlier versions.
   */
  readonly toolVersion?: string
  /** Names of policy sets that apply and have no policies; absent if there are none. */
  readonly ignoredPolicySets?: readonly string[]
  /** Time of the first cancellation, if a phase was running. */
  readonly canceledMs: number | null
  /** The reason why it errored, or why its workspace remains locked. */
  readonly reason: string | null
  /** True if its apply left the state uncertain: only an admin can unlock the workspace. */
  readonly keepsLock: boolean
}

/** When a run of the source is applied, a run is queued in the workspace. */
export interface RunTriggerRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly sourceId: string
  readonly createdMs: number
  /** Why the latest apply of the source queued no run. */
  readonly problem: string | null
}

/** One phase of an executed run: a batch job. */
export interface RunPhaseRow {
  /** `<run id>-<plan or apply>`, which is also the ID of its job. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly phase: v2.RunPhaseName
  readonly status: v2.RunPlan['attributes']['status']
  readonly statusMs: StatusTimes
  /** Namespace of its job. */
  readonly namespace: string
  /** Hash of the ticket that the runner presents once; null before the job is submitted. */
  readonly ticketHash: string | null
  /** Hash of the token chosen by the runner; null before it has started. */
  readonly tokenHash: string | null
  readonly cancellation: v2.PhaseCancellation
  /** The phase was killed, and its job is stopped. Earlier versions set `interrupt` instead. */
  readonly isJobStopped?: true
  /** Size of the log without the marks at both ends. */
  readonly logBytes: number
}

/** The apply phase of an executed run as it is shown; derived from the run and its phase. */
export interface RunApplyRow {
  readonly id: string
  readonly runId: string
  readonly status: RunPhaseRow['status']
  readonly statusMs: StatusTimes
}

/** A part of the log of a phase; its bytes are a blob. */
export interface RunLogPartRow {
  /** The phase and the offset of the first byte, so that parts sort. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly phaseId: string
  readonly offset: number
  readonly bytes: number
}

/**
 * A file created by a run; its bytes are a sealed blob, because plans and states contain secrets.
 */
export interface RunFileRow {
  /** The run and the file name. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly name: v2.RunFileName
  readonly bytes: number
}

export interface PlanCounts {
  readonly additions: number
  readonly changes: number
  readonly destructions: number
  readonly imports: number
  /** Number of resources after the plan is applied. */
  readonly resources: number
}

/** An uploaded plan; the document itself is a blob. */
export interface RunPlanRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly status: v2.RunPlan['attributes']['status']
  readonly statusMs: StatusTimes
  readonly counts: PlanCounts
  readonly hasChanges: boolean
  /** Null before the upload. */
  readonly bytes: number | null
  /** The bytes are encrypted; absent in rows of earlier versions, which stored them as they are. */
  readonly isSealed?: boolean
  /** The policy sets at that time, sealed; null after they were evaluated. */
  readonly frozenSets: string | null
}

/** A part of a plan that is too large for one log entry; its bytes are a blob. */
export interface PlanPartRow {
  /** The plan's ID and the position of the part, so that parts sort. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly planId: string
}

/** Results of the policies of one set. */
export interface PolicySetResultRow {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly overridable: boolean
  readonly toolVersion: string | null
  readonly error: string
  readonly warnings: readonly string[]
  readonly outcomes: readonly v2.PolicyOutcome[]
}

/** Results of all `native` policies for one run. */
export interface PolicyCheckRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly status: v2.PolicyCheck['attributes']['status']
  readonly statusMs: StatusTimes
  readonly durationMs: number
  /**
   * Null until the policies are evaluated, which happens before the check itself starts if the
   * previous stage waits for approval.
   */
  readonly sets: readonly PolicySetResultRow[] | null
  readonly override: OverrideRecord | null
}

/** The stage of a run after its plan in which sets are evaluated one by one. */
export interface TaskStageRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly status: v2.TaskStage['attributes']['status']
  readonly statusMs: StatusTimes
  readonly createdMs: number
  readonly updatedMs: number
  readonly override: OverrideRecord | null
}

/** All sets of one kind in a stage. */
export interface PolicyEvaluationRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly stageId: string
  readonly kind: v2.PolicyEvaluation['attributes']['policy-kind']
  readonly toolVersion: string | null
  readonly status: v2.PolicyEvaluation['attributes']['status']
  readonly statusMs: StatusTimes
  readonly counts: v2.PolicyResultCount
  readonly createdMs: number
  readonly updatedMs: number
}

export interface PolicySetOutcomeRow extends PolicySetResultRow {
  /** The row's `id` is the outcome's; the set itself may have been deleted. */
  readonly policySetId: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly evaluationId: string
  /** Position by the names of the sets. */
  readonly position: number
}
