import type { TaskEvent, TaskEventType } from '@reeve/contract'
import { formatDurationNs, nsFromMs } from '@reeve/kit/duration.ts'
import { redactPaths } from '@reeve/kit/fault.ts'
import { ZERO_TASK_EVENT } from '../../model/index.ts'
import { AGENT_LIMITS } from '../limits.ts'

/** Fields of an event that callers may set; the rest is derived. */
export type TaskEventFields = Partial<
  Omit<TaskEvent, 'Type' | 'Time' | 'DisplayMessage' | 'Details'>
>

/**
 * Creates a task event. Every field is present, and each one that applies is copied to `Details`.
 */
export function taskEvent(
  type: TaskEventType,
  timeMs: number,
  {
    details,
    ...eventFields
  }: TaskEventFields & { readonly details?: Readonly<Record<string, string>> } = {},
): TaskEvent {
  const fields = truncateFields(eventFields)
  const record: TaskEvent = {
    ...ZERO_TASK_EVENT,
    ...fields,
    Type: type,
    Time: nsFromMs(timeMs),
    Details: { ...detailsOf(fields), ...details },
  }
  return { ...record, DisplayMessage: displayMessage(record) }
}

/**
 * Truncates strings: drivers and the system may write any length, and ten events per task go into
 * every report.
 */
function truncateFields(fields: TaskEventFields): TaskEventFields {
  const maxChars = AGENT_LIMITS.eventTextCharsMax
  const entries = Object.entries(fields).map(([name, value]) => {
    if (typeof value !== 'string') return [name, value] as const
    const text = redactPaths(value)
    return [name, text.length > maxChars ? `${text.slice(0, maxChars)}…` : text] as const
  })
  return Object.fromEntries(entries)
}

/** Keys of `Details` by field. */
const DETAIL_KEYS = {
  Message: 'message',
  FailsTask: 'fails_task',
  RestartReason: 'restart_reason',
  SetupError: 'setup_error',
  DriverError: 'driver_error',
  DriverMessage: 'driver_message',
  ExitCode: 'exit_code',
  Signal: 'signal',
  KillTimeout: 'kill_timeout',
  KillError: 'kill_error',
  KillReason: 'kill_reason',
  StartDelay: 'start_delay',
  DownloadError: 'download_error',
  ValidationError: 'validation_error',
  DiskLimit: 'disk_limit',
  FailedSibling: 'failed_sibling',
  SecretStoreError: 'secret_store_error',
  TaskSignal: 'task_signal',
  TaskSignalReason: 'task_signal_reason',
  GenericSource: 'generic_source',
} as const satisfies Record<keyof TaskEventFields, string>

function detailsOf(fields: TaskEventFields): Record<string, string> {
  const details: Record<string, string> = {}
  for (const [name, key] of Object.entries(DETAIL_KEYS)) {
    const value: unknown = Reflect.get(fields, name)
    if (typeof value !== 'number' && value !== true && !isNonEmptyString(value)) continue
    // The kill timeout is formatted like 5s, the start delay stays a number of nanoseconds.
    details[key] = name === 'KillTimeout' ? formatDurationNs(Number(value)) : String(value)
  }
  return details
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Message for people, created on the node so that all clients show the same. */
function displayMessage(event: TaskEvent): string {
  const format = DISPLAY_MESSAGES[event.Type]
  return format === undefined ? event.Message : format(event)
}

const DISPLAY_MESSAGES: Readonly<Record<string, (event: TaskEvent) => string>> = {
  Received: () => 'Task received by the node',
  'Task Setup': (event) => event.Message,
  Started: () => 'Task started by the node',
  Terminated: terminatedMessage,
  Killing: killingMessage,
  Killed: (event) => event.KillError || 'Task was stopped',
  Restarting: restartingMessage,
  'Not Restarting': (event) => event.RestartReason || 'Task will not be started again',
  'Setup Failure': (event) => event.SetupError || 'Task could not be set up',
  'Driver Failure': (event) => event.DriverError || 'The driver could not start the task',
  'Failed Validation': (event) => event.ValidationError || 'The task is not valid on this node',
  'Failed Artifact Download': (event) =>
    event.DownloadError || 'An artifact of the task could not be downloaded',
  'Failed Restoring Task': (event) =>
    `The task was not found after the agent restarted${withColon(event.DriverError)}`,
  'Sibling Task Failed': (event) =>
    event.FailedSibling === ''
      ? 'A task of the same group failed'
      : `Task ${JSON.stringify(event.FailedSibling)} of the same group failed`,
  'Leader Task Dead': () => 'The leader of the group has ended',
  'Main Tasks Dead': () => 'The main tasks of the group have ended',
  'Restart Signaled': (event) => event.RestartReason || 'Task was asked to restart',
  Signaling: (event) =>
    `Signal ${event.TaskSignal || 'unknown'} sent${withColon(event.TaskSignalReason)}`,
  'Waiting for shutdown delay': (event) => event.Message,
  'Skipping shutdown delay': (event) => event.Message,
  Driver: (event) => event.DriverMessage,
}

/** Default restart reason, which the display message omits. */
export const WITHIN_POLICY = 'Restart within policy'

function terminatedMessage(event: TaskEvent): string {
  const parts = [`Exit Code: ${event.ExitCode}`]
  if (event.Signal !== 0) parts.push(`Signal: ${event.Signal}`)
  if (event.Message !== '') parts.push(`Exit Message: ${JSON.stringify(event.Message)}`)
  return parts.join(', ')
}

/** The event precedes the kill signal, which waits for `ShutdownDelayOptions`. */
function killingMessage(event: TaskEvent): string {
  const killTimeout = formatDurationNs(event.KillTimeout)
  const message = `Task is being stopped; force follows ${killTimeout} after the kill signal`
  return `${withDash(event.KillReason)}${message}`
}

function restartingMessage(event: TaskEvent): string {
  const reason = event.RestartReason === WITHIN_POLICY ? '' : event.RestartReason
  return `${withDash(reason)}Task restarting in ${formatDurationNs(event.StartDelay)}`
}

function withColon(reason: string): string {
  return reason === '' ? '' : `: ${reason}`
}

function withDash(reason: string): string {
  return reason === '' ? '' : `${reason} - `
}
