import type { TaskEvent, TaskEventType } from '@reeve/contract'
import { formatDurationNs, nsFromMs } from '@reeve/kit/duration.ts'
import { redactPaths } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'

/** What a caller may say about an event; the rest of the record follows from it. */
export type TaskEventFields = Partial<
  Omit<TaskEvent, 'Type' | 'Time' | 'DisplayMessage' | 'Details'>
>

/**
 * One task event with all its fields. Every field is always present, and each one that applies is
 * mirrored as text in `Details`.
 */
export function taskEvent(
  type: TaskEventType,
  timeMs: number,
  {
    details,
    ...given
  }: TaskEventFields & { readonly details?: Readonly<Record<string, string>> } = {},
): TaskEvent {
  const fields = shortened(given)
  const record: TaskEvent = {
    ...EMPTY,
    ...fields,
    Type: type,
    Time: nsFromMs(timeMs),
    Details: { ...mirror(fields), ...details },
  }
  return { ...record, DisplayMessage: displayMessage(record) }
}

/**
 * Texts of drivers and of the system may be of any length; ten events of each task go into every
 * report.
 */
function shortened(fields: TaskEventFields): TaskEventFields {
  const limit = AGENT_LIMITS.eventTextCharsMax
  const entries = Object.entries(fields).map(([name, value]) => {
    if (typeof value !== 'string') return [name, value] as const
    const text = redactPaths(value)
    return [name, text.length > limit ? `${text.slice(0, limit)}…` : text] as const
  })
  return Object.fromEntries(entries)
}

const EMPTY: Omit<TaskEvent, 'Type' | 'Time'> = {
  DisplayMessage: '',
  Message: '',
  Details: {},
  FailsTask: false,
  RestartReason: '',
  SetupError: '',
  DriverError: '',
  DriverMessage: '',
  ExitCode: 0,
  Signal: 0,
  KillTimeout: 0,
  KillError: '',
  KillReason: '',
  StartDelay: 0,
  DownloadError: '',
  ValidationError: '',
  DiskLimit: 0,
  FailedSibling: '',
  SecretStoreError: '',
  TaskSignal: '',
  TaskSignalReason: '',
  GenericSource: '',
}

/** The keys of `Details`. */
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

function mirror(fields: TaskEventFields): Record<string, string> {
  const details: Record<string, string> = {}
  for (const [name, key] of Object.entries(DETAIL_KEYS)) {
    const value: unknown = Reflect.get(fields, name)
    if (typeof value !== 'number' && value !== true && !isText(value)) continue
    // The kill timeout is a text like 5s, the start delay a number of nanoseconds.
    details[key] = name === 'KillTimeout' ? formatDurationNs(Number(value)) : String(value)
  }
  return details
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** The sentence for people. Filled in on the node, so that every reader shows the same one. */
function displayMessage(event: TaskEvent): string {
  const speak = SENTENCES[event.Type]
  return speak === undefined ? event.Message : speak(event)
}

const SENTENCES: Readonly<Record<string, (event: TaskEvent) => string>> = {
  Received: () => 'Task received by the node',
  'Task Setup': (event) => event.Message,
  Started: () => 'Task started by the node',
  Terminated: terminated,
  Killing: killing,
  Killed: (event) => event.KillError || 'Task was stopped',
  Restarting: restarting,
  'Not Restarting': (event) => event.RestartReason || 'Task will not be started again',
  'Setup Failure': (event) => event.SetupError || 'Task could not be set up',
  'Driver Failure': (event) => event.DriverError || 'The driver could not start the task',
  'Failed Validation': (event) => event.ValidationError || 'The task is not valid on this node',
  'Failed Artifact Download': (event) =>
    event.DownloadError || 'An artifact of the task could not be downloaded',
  'Failed Restoring Task': (event) =>
    `The task was not found after the agent restarted${suffixed(event.DriverError)}`,
  'Sibling Task Failed': (event) =>
    event.FailedSibling === ''
      ? 'A task of the same group failed'
      : `Task ${JSON.stringify(event.FailedSibling)} of the same group failed`,
  'Leader Task Dead': () => 'The leader of the group has ended',
  'Main Tasks Dead': () => 'The main tasks of the group have ended',
  'Restart Signaled': (event) => event.RestartReason || 'Task was asked to restart',
  Signaling: (event) =>
    `Signal ${event.TaskSignal || 'unknown'} sent${suffixed(event.TaskSignalReason)}`,
  'Waiting for shutdown delay': (event) => event.Message,
  'Skipping shutdown delay': (event) => event.Message,
  Driver: (event) => event.DriverMessage,
}

/** The plain reason of a restart, which the sentence does not repeat. */
export const WITHIN_POLICY = 'Restart within policy'

function terminated(event: TaskEvent): string {
  const parts = [`Exit Code: ${event.ExitCode}`]
  if (event.Signal !== 0) parts.push(`Signal: ${event.Signal}`)
  if (event.Message !== '') parts.push(`Exit Message: ${JSON.stringify(event.Message)}`)
  return parts.join(', ')
}

/** It comes before the signal, which waits for `ShutdownDelay`. */
function killing(event: TaskEvent): string {
  const grace = formatDurationNs(event.KillTimeout)
  const text = `Task is being stopped; force follows ${grace} after the kill signal`
  return `${prefixed(event.KillReason)}${text}`
}

function restarting(event: TaskEvent): string {
  const reason = event.RestartReason === WITHIN_POLICY ? '' : event.RestartReason
  return `${prefixed(reason)}Task restarting in ${formatDurationNs(event.StartDelay)}`
}

function suffixed(reason: string): string {
  return reason === '' ? '' : `: ${reason}`
}

function prefixed(reason: string): string {
  return reason === '' ? '' : `${reason} - `
}
