import type { v2 } from '@reeve/contract'
import type { NotificationConfigurationRow, RunRow, WorkspaceRow } from '../../model/index.ts'
import type { Tables } from '../../state/index.ts'
import { isTerminalStatus, isIdle } from '../runs/run-states.ts'

/** An event that may be delivered. */
export interface Occurrence {
  /** Stable identifier of the occurrence. */
  readonly key: string
  readonly trigger: v2.NotificationTrigger
  readonly atMs: number
  /** Undefined if the occurrence concerns the workspace. */
  readonly run: RunRow | undefined
  readonly message: string
}

const HOUR_MS = 3_600_000

/** Older occurrences are not delivered. */
export const OCCURRENCE_AGE_MS_MAX = HOUR_MS

/** Times of the two reminders before a workspace is destroyed. */
const REMINDER_HOURS = [24, 12] as const

/** Reports whether a reminder of a workspace may be due. */
export function mayNeedReminder({ autoDestroyAtMs: atMs }: WorkspaceRow, nowMs: number): boolean {
  return atMs !== null && atMs > nowMs && atMs - nowMs <= REMINDER_HOURS[0] * HOUR_MS
}

/** Returns the occurrences of a workspace that match a configuration, oldest first. */
export function occurrencesFor(
  tables: Tables,
  configuration: NotificationConfigurationRow,
  nowMs: number,
): readonly Occurrence[] {
  const { workspaceId, triggers, enabledMs } = configuration
  const workspace = tables.workspaces.find(workspaceId)
  if (workspace === undefined) return []
  // A time in the future comes from a clock that was ahead, and is ignored.
  const since = Math.max(enabledMs > nowMs ? 0 : enabledMs, nowMs - OCCURRENCE_AGE_MS_MAX)
  const runIds = triggers.some((one) => one.startsWith('run:'))
    ? [...tables.runs.keysByIndex('workspace', workspaceId)]
    : []
  const fromRuns = runIds.flatMap((id) => runOccurrences(tables.runs.get(id)))
  return [...fromRuns.filter(({ atMs }) => atMs >= since), ...reminders(workspace, nowMs)]
    .filter(({ trigger }) => triggers.includes(trigger))
    .toSorted((a, b) => a.atMs - b.atMs)
}

/** Returns the occurrences of a run, from the timestamps of its statuses. */
function runOccurrences(run: RunRow): readonly Occurrence[] {
  const { status, statusMs } = run
  const needsAttention =
    isIdle(status) && !isTerminalStatus(status) && status !== 'planned_and_saved'
  const lastMs = Math.max(run.createdMs, ...Object.values(statusMs))
  const times: readonly (readonly [v2.NotificationTrigger, number | undefined, string])[] = [
    ['run:created', run.createdMs, 'Run created'],
    ['run:planning', statusMs['planning-at'], 'Run is planning'],
    ['run:needs_attention', needsAttention ? lastMs : undefined, `Run needs attention (${status})`],
    ['run:applying', statusMs['applying-at'], 'Run is applying'],
    ['run:completed', COMPLETED.has(status) ? lastMs : undefined, `Run completed (${status})`],
    ['run:errored', FAILED.has(status) ? lastMs : undefined, failureText(status)],
  ]
  return times.flatMap(([trigger, atMs, message]) =>
    atMs === undefined
      ? []
      : [{ key: `${run.id} ${trigger}${keySuffix(trigger, status)}`, trigger, atMs, run, message }],
  )
}

/** A run may need attention twice: for its policies and for its confirmation. */
function keySuffix(trigger: v2.NotificationTrigger, status: v2.RunStatus): string {
  return trigger === 'run:needs_attention' ? ` ${status}` : ''
}

function failureText(status: v2.RunStatus): string {
  return status === 'canceled' ? 'Run was canceled' : `Run failed (${status})`
}

const COMPLETED: ReadonlySet<v2.RunStatus> = new Set(['applied', 'planned_and_finished'])
const FAILED: ReadonlySet<v2.RunStatus> = new Set(['errored', 'canceled', 'policy_soft_failed'])

/** Returns the latest due reminder that a workspace will be destroyed. */
function reminders(workspace: WorkspaceRow, nowMs: number): readonly Occurrence[] {
  const { autoDestroyAtMs: atMs } = workspace
  if (atMs === null || !mayNeedReminder(workspace, nowMs)) return []
  const due = REMINDER_HOURS.findLast((hours) => atMs - hours * HOUR_MS <= nowMs)
  if (due === undefined) return []
  return [
    {
      key: `${workspace.id} auto-destroy ${atMs} ${due}`,
      trigger: 'workspace:auto_destroy_reminder',
      atMs: nowMs,
      run: undefined,
      message: `Workspace ${workspace.name} will be destroyed at ${new Date(atMs).toISOString()}`,
    },
  ]
}
