import type {
  BlobPartRow,
  ConfigurationVersionRow,
  NotificationConfigurationRow,
  NotificationRow,
  PlanPartRow,
  PolicyCheckRow,
  PolicyEvaluationRow,
  PolicySetOutcomeRow,
  RunFileRow,
  RunLogPartRow,
  RunPhaseRow,
  RunPlanRow,
  RunRow,
  RunTriggerRow,
  RunVariableRow,
  StateVersionRow,
  TaskStageRow,
} from '../../model/index.ts'
import type { TableSpec } from '../table/table.ts'

/** Row types of the tables of workspaces and runs. */
export interface RunRows {
  readonly blob_parts: BlobPartRow
  readonly configuration_versions: ConfigurationVersionRow
  readonly notification_configurations: NotificationConfigurationRow
  readonly notifications: NotificationRow
  readonly plan_parts: PlanPartRow
  readonly policy_checks: PolicyCheckRow
  readonly policy_evaluations: PolicyEvaluationRow
  readonly policy_set_outcomes: PolicySetOutcomeRow
  readonly run_files: RunFileRow
  readonly run_log_parts: RunLogPartRow
  readonly run_phases: RunPhaseRow
  readonly run_plans: RunPlanRow
  readonly run_triggers: RunTriggerRow
  readonly run_variables: RunVariableRow
  readonly runs: RunRow
  readonly state_versions: StateVersionRow
  readonly task_stages: TaskStageRow
}

/** Index key of a name within its organization. `!` occurs in no ID. */
export function scopedKey(scope: string, name: string): string {
  return `${scope}!${name}`
}

/** The blob that holds an uploaded plan. */
export function planBlobKey(planId: string): string {
  return `plan/${planId}`
}

/** The blob that holds a part of a plan. */
export function planPartBlobKey(partId: string): string {
  return `plan-part/${partId}`
}

/** The blob that holds a part of the log of a run's phase. */
export function runLogPartBlobKey(partId: string): string {
  return `run-log/${partId}`
}

/** Index key of runs that wait to plan or to apply. */
export const WAITING_KEY = 'yes'

function isWaitingRun({ status, execution }: RunRow): boolean {
  return execution !== undefined && (status === 'pending' || status === 'confirmed')
}

/** Index key of phases that wait for their node or execute. */
export const OPEN_PHASE_KEY = 'yes'

/** Index key of ended phases whose jobs must be stopped. */
export const KILLED_PHASE_KEY = 'yes'

/** Whether a phase waits for its node or executes. */
export function isOpenPhase({ status }: Pick<RunPhaseRow, 'status'>): boolean {
  return status === 'queued' || status === 'running'
}

/** Index key of enabled notification configurations. */
export const ENABLED_NOTIFICATION_KEY = 'yes'

/** Index key of failed deliveries that will be retried. */
export const RETRIED_NOTIFICATION_KEY = 'yes'

/** The blob that holds a part of a sealed blob. */
export function sealedPartBlobKey(partId: string): string {
  return `blob-part/${partId}`
}

const FAILED_CHECKS: ReadonlySet<PolicyCheckRow['status']> = new Set(['hard_failed', 'soft_failed'])

export function organizationIdOf(row: { readonly organizationId: string }): string {
  return row.organizationId
}

function workspaceIdOf(row: { readonly workspaceId: string }): string {
  return row.workspaceId
}

function runIdOf(row: { readonly runId: string }): string {
  return row.runId
}

/**
 * Rows have their own timestamps and are found by ID; rows of large tables are decoded on demand.
 */
export const GOVERNANCE_SPEC_DEFAULTS = {
  keepsCreationOrder: false,
  stamped: false,
  decodedCacheSize: 1_000_000,
} as const
export const LARGE_SPEC_DEFAULTS = {
  ...GOVERNANCE_SPEC_DEFAULTS,
  decodedCacheSize: 20_000,
} as const

export const RUN_SPECS = {
  blob_parts: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      owner: (row) => row.ownerId,
      blob: (row) => sealedPartBlobKey(row.id),
    },
    blobIndex: 'blob',
  },
  configuration_versions: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      upload: (row) => row.upload.keyHash,
    },
  },
  notification_configurations: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      enabled: (row) => (row.enabled ? ENABLED_NOTIFICATION_KEY : undefined),
      // Reminders become due by time alone, without a row change.
      reminded: (row) =>
        row.enabled && row.triggers.includes('workspace:auto_destroy_reminder')
          ? ENABLED_NOTIFICATION_KEY
          : undefined,
    },
  },
  notifications: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      configuration: (row) => row.configurationId,
      retried: (row) => (row.retryMs === null ? undefined : RETRIED_NOTIFICATION_KEY),
    },
  },
  plan_parts: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      run: runIdOf,
      plan: (row) => row.planId,
      blob: (row) => planPartBlobKey(row.id),
    },
    blobIndex: 'blob',
  },
  policy_checks: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      run: runIdOf,
      failed: (row) => (FAILED_CHECKS.has(row.status) ? row.workspaceId : undefined),
    },
  },
  policy_evaluations: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      run: runIdOf,
      stage: (row) => row.stageId,
    },
  },
  policy_set_outcomes: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      run: runIdOf,
      evaluation: (row) => row.evaluationId,
    },
  },
  run_files: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: { organization: organizationIdOf, workspace: workspaceIdOf, run: runIdOf },
  },
  run_log_parts: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      run: runIdOf,
      phase: (row) => row.phaseId,
      blob: (row) => runLogPartBlobKey(row.id),
    },
    blobIndex: 'blob',
  },
  run_phases: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      run: runIdOf,
      open: (row) => (isOpenPhase(row) ? OPEN_PHASE_KEY : undefined),
      // Phases whose jobs must be stopped.
      killed: (row) =>
        row.cancellation === 'kill' && row.isJobStopped !== true && !isOpenPhase(row)
          ? KILLED_PHASE_KEY
          : undefined,
      openIn: (row) => (isOpenPhase(row) ? row.organizationId : undefined),
    },
  },
  run_plans: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      run: runIdOf,
      blob: (row) => (row.bytes === null ? undefined : planBlobKey(row.id)),
    },
    blobIndex: 'blob',
  },
  run_triggers: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      source: (row) => row.sourceId,
      pair: (row) => scopedKey(row.workspaceId, row.sourceId),
    },
  },
  run_variables: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      key: (row) => scopedKey(scopedKey(row.workspaceId, row.category), row.key),
    },
  },
  runs: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      // Used by the run loop to find its work.
      status: (row) => row.status,
      workspaceStatus: (row) => scopedKey(row.workspaceId, row.status),
      waiting: (row) => (isWaitingRun(row) ? WAITING_KEY : undefined),
      waitingIn: (row) => (isWaitingRun(row) ? row.organizationId : undefined),
      apply: (row) => row.execution?.applyId,
      configuration: (row) => row.configurationVersionId,
    },
  },
  state_versions: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      workspace: workspaceIdOf,
      // The newest of these is the state of the workspace.
      finalized: (row) => (row.status === 'finalized' ? row.workspaceId : undefined),
      // A workspace with one of these is not unlocked.
      pending: (row) => (row.status === 'pending' ? row.workspaceId : undefined),
      run: (row) => row.runId ?? undefined,
      upload: (row) => row.upload?.keyHash,
      jsonUpload: (row) => row.jsonUpload?.keyHash,
    },
  },
  task_stages: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: { organization: organizationIdOf, workspace: workspaceIdOf, run: runIdOf },
  },
} as const satisfies {
  readonly [N in keyof RunRows]: Omit<TableSpec<RunRows[N]>, 'name'>
}
