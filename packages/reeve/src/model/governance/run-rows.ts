import type { v2 } from '@reeve/contract'

/** When something entered its states, by `<state>-at`. */
export type StatusTimes = Readonly<Record<string, number>>

/** Who passed over policies, when and why. */
export interface OverrideRecord {
  readonly byId: string
  /** As they were called then; absent in rows of earlier versions. */
  readonly byName?: string
  readonly atMs: number
  readonly comment: string | null
}

/** What people said about a run: who applied, discarded or canceled it, and why. */
export interface RunDecision extends OverrideRecord {
  readonly action: 'apply' | 'discard' | 'cancel'
}

/** One plan on its way through the policies. */
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
  /** Their values are nobody's business here: policies see only that they are there. */
  readonly variableNames: readonly string[]
  readonly createdMs: number
  readonly createdById: string
  /** As they were called then; absent in rows of earlier versions. */
  readonly createdByName?: string
  readonly decision: RunDecision | null
  /** What it plans; absent where the plan was uploaded. */
  readonly configurationVersionId?: string
  /** Absent where the plan is uploaded and applied by somebody else. */
  readonly execution?: RunExecution
}

/** What is known of a run that is planned and applied as jobs of this cluster. */
export interface RunExecution {
  readonly applyId: string
  /** What queued it; absent in rows of earlier versions, which somebody asked for. */
  readonly trigger?: v2.RunTriggerReason
  readonly savePlan: boolean
  readonly allowConfigGeneration: boolean
  readonly generatedConfiguration: boolean
  /** The variables given with the run, as JSON and sealed; null when there are none. */
  readonly variables: string | null
  /** When it was canceled first, while something of it was executing. */
  readonly canceledMs: number | null
  /** Why it errored, or why its workspace stays locked. */
  readonly reason: string | null
  /** Its apply left the state uncertain: only an admin frees the workspace. */
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

/** One half of an executed run: a batch job. */
export interface RunPhaseRow {
  /** `<run id>-<plan or apply>`, which is the id of its job too. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly phase: v2.RunPhaseName
  readonly status: v2.RunPlan['attributes']['status']
  readonly statusMs: StatusTimes
  /** Where its job is. */
  readonly namespace: string
  /** Shown by the runner once; null before the job is submitted. */
  readonly ticketHash: string | null
  /** Chosen by the runner; null before it has started. */
  readonly tokenHash: string | null
  readonly cancellation: v2.PhaseCancellation
  /** Bytes of the log without the marks at both ends. */
  readonly logBytes: number
}

/** The second half of an executed run, as it is shown; it is derived from the run and its phase. */
export interface RunApplyRow {
  readonly id: string
  readonly runId: string
  readonly status: RunPhaseRow['status']
  readonly statusMs: StatusTimes
}

/** A piece of the log of a phase; its bytes are a blob. */
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

/** A file that a run leaves; its bytes are a sealed blob, because plans and states hold secrets. */
export interface RunFileRow {
  /** The run and the name. */
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
  /** What there is when the plan is carried out. */
  readonly resources: number
}

/** The document itself is a blob, as it was uploaded. */
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
  /** What the policies were at that moment, sealed; null when they have been asked. */
  readonly frozenSets: string | null
}

/** A part of a plan that is too large for one write to the log; its bytes are a blob. */
export interface PlanPartRow {
  /** The plan's id and the place of the part among the others, so that parts sort. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly planId: string
}

/** What the policies of one set said. */
export interface JudgedSetRow {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly overridable: boolean
  readonly toolVersion: string | null
  readonly error: string
  readonly warnings: readonly string[]
  readonly outcomes: readonly v2.PolicyOutcome[]
}

/** What all `native` policies said about one run. */
export interface PolicyCheckRow {
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly status: v2.PolicyCheck['attributes']['status']
  readonly statusMs: StatusTimes
  readonly durationMs: number
  /**
   * Known as soon as the policies have been asked, which is before the check's turn comes when the
   * stage before it waits for somebody. Null until then.
   */
  readonly sets: readonly JudgedSetRow[] | null
  readonly override: OverrideRecord | null
}

/** The part of a run after its plan in which sets are evaluated one by one. */
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

export interface PolicySetOutcomeRow extends JudgedSetRow {
  /** `id` is the outcome's; the set itself may be gone. */
  readonly policySetId: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
  readonly evaluationId: string
  /** By the names of the sets. */
  readonly position: number
}
