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
} from '../model/index.ts'
import type { TableSpec } from './table.ts'

/** What the tables hold that belong to workspaces and their runs. */
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

/** The group of a name within its organization. `!` is in no id. */
export function scopedKey(scope: string, name: string): string {
  return `${scope}!${name}`
}

/** The blob that holds an uploaded plan. */
export function planKey(planId: string): string {
  return `plan/${planId}`
}

/** The blob that holds a part of a plan. */
export function planPartKey(partId: string): string {
  return `plan-part/${partId}`
}

/** The blob that holds a part of the log of a run's phase. */
export function runLogPartKey(partId: string): string {
  return `run-log/${partId}`
}

/** Group of the runs that wait for their turn to plan or to apply. */
export const WAITING_RUNS = 'yes'

function isWaitingRun({ status, execution }: RunRow): boolean {
  return execution !== undefined && (status === 'pending' || status === 'confirmed')
}

/** Group of the phases that wait for their node or execute. */
export const OPEN_PHASES = 'yes'

/** Group of the phases that ended and whose jobs are to be stopped. */
export const KILLED_PHASES = 'yes'

/** Whether a phase waits for its node or executes. */
export function isOpenPhase({ status }: Pick<RunPhaseRow, 'status'>): boolean {
  return status === 'queued' || status === 'running'
}

/** Group of the notification configurations that are enabled. */
export const ENABLED_NOTIFICATIONS = 'yes'

/** Group of deliveries that failed and are retried. */
export const RETRIED_NOTIFICATIONS = 'yes'

/** The blob that holds a part of a sealed blob. */
export function blobPartKey(partId: string): string {
  return `blob-part/${partId}`
}

const FAILED_CHECKS: ReadonlySet<PolicyCheckRow['status']> = new Set(['hard_failed', 'soft_failed'])

export function organization(row: { readonly organizationId: string }): string {
  return row.organizationId
}

function workspace(row: { readonly workspaceId: string }): string {
  return row.workspaceId
}

function run(row: { readonly runId: string }): string {
  return row.runId
}

/** Rows have their own times and are found by id; large tables are decoded as they are read. */
export const plain = { byCreation: false, stamped: false, decodedRowsMax: 1_000_000 } as const
export const large = { ...plain, decodedRowsMax: 20_000 } as const

export const RUN_SPECS: {
  readonly [N in keyof RunRows]: Omit<TableSpec<RunRows[N]>, 'name'>
} = {
  blob_parts: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      owner: (row) => row.ownerId,
      blob: (row) => blobPartKey(row.id),
    },
    blobGroup: 'blob',
  },
  configuration_versions: {
    ...large,
    key: (row) => row.id,
    groups: { organization, workspace, upload: (row) => row.upload.keyHash },
  },
  notification_configurations: {
    ...plain,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      enabled: (row) => (row.enabled ? ENABLED_NOTIFICATIONS : undefined),
      // Reminders are due by time alone, without a change of a row.
      reminded: (row) =>
        row.enabled && row.triggers.includes('workspace:auto_destroy_reminder')
          ? ENABLED_NOTIFICATIONS
          : undefined,
    },
  },
  notifications: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      configuration: (row) => row.configurationId,
      retried: (row) => (row.retryMs === null ? undefined : RETRIED_NOTIFICATIONS),
    },
  },
  plan_parts: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      run,
      plan: (row) => row.planId,
      blob: (row) => planPartKey(row.id),
    },
    blobGroup: 'blob',
  },
  policy_checks: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      run,
      failed: (row) => (FAILED_CHECKS.has(row.status) ? row.workspaceId : undefined),
    },
  },
  policy_evaluations: {
    ...large,
    key: (row) => row.id,
    groups: { organization, workspace, run, stage: (row) => row.stageId },
  },
  policy_set_outcomes: {
    ...large,
    key: (row) => row.id,
    groups: { organization, workspace, run, evaluation: (row) => row.evaluationId },
  },
  run_files: { ...large, key: (row) => row.id, groups: { organization, workspace, run } },
  run_log_parts: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      run,
      phase: (row) => row.phaseId,
      blob: (row) => runLogPartKey(row.id),
    },
    blobGroup: 'blob',
  },
  run_phases: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      run,
      open: (row) => (isOpenPhase(row) ? OPEN_PHASES : undefined),
      killed: (row) =>
        row.cancellation === 'kill' && !isOpenPhase(row) ? KILLED_PHASES : undefined,
      openIn: (row) => (isOpenPhase(row) ? row.organizationId : undefined),
    },
  },
  run_plans: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      run,
      blob: (row) => (row.bytes === null ? undefined : planKey(row.id)),
    },
    blobGroup: 'blob',
  },
  run_triggers: {
    ...plain,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      source: (row) => row.sourceId,
      pair: (row) => scopedKey(row.workspaceId, row.sourceId),
    },
  },
  run_variables: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      key: (row) => scopedKey(scopedKey(row.workspaceId, row.category), row.key),
    },
  },
  runs: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      // The loop finds its work by it.
      status: (row) => row.status,
      workspaceStatus: (row) => scopedKey(row.workspaceId, row.status),
      waiting: (row) => (isWaitingRun(row) ? WAITING_RUNS : undefined),
      waitingIn: (row) => (isWaitingRun(row) ? row.organizationId : undefined),
      apply: (row) => row.execution?.applyId,
      configuration: (row) => row.configurationVersionId,
    },
  },
  state_versions: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      // The newest of these is the state of the workspace.
      finalized: (row) => (row.status === 'finalized' ? row.workspaceId : undefined),
      // A workspace with one of these is not unlocked.
      pending: (row) => (row.status === 'pending' ? row.workspaceId : undefined),
      run: (row) => row.runId ?? undefined,
      upload: (row) => row.upload?.keyHash,
      jsonUpload: (row) => row.jsonUpload?.keyHash,
    },
  },
  task_stages: { ...large, key: (row) => row.id, groups: { organization, workspace, run } },
}
