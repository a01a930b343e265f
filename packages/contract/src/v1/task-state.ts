import * as t from './shared-schemas.ts'

export const TASK_STATES = ['pending', 'running', 'dead'] as const
export type TaskStateName = (typeof TASK_STATES)[number]

/** Types of task events. */
export const TASK_EVENT_TYPES = [
  'Setup Failure',
  'Driver Failure',
  'Started',
  'Terminated',
  'Killing',
  'Killed',
  'Received',
  'Failed Validation',
  'Restarting',
  'Not Restarting',
  'Downloading Artifacts',
  'Failed Artifact Download',
  'Restart Signaled',
  'Signaling',
  'Sibling Task Failed',
  'Leader Task Dead',
  'Driver',
  'Task Setup',
  'Building Task Directory',
  'Main Tasks Dead',
  'Disk Resources Exceeded',
  'Task hook failed',
  'Task hook message',
  'Failed Restoring Task',
  'Plugin became unhealthy',
  'Plugin became healthy',
  'Reconnected',
  'Waiting for shutdown delay',
  'Skipping shutdown delay',
  'Pausing',
  'Running',
  'Alloc Unhealthy',
  'Template',
] as const
export type TaskEventType = (typeof TASK_EVENT_TYPES)[number]

/** Which fields apply depends on the type; all are always present. */
export const TaskEvent = t.Named('TaskEvent', 'Something that happened to a task.', {
  Type: t.String({ description: 'One of the known types, or the name of a driver event.' }),
  Time: t.Nanoseconds(),
  DisplayMessage: t.String({ description: 'A sentence for people.' }),
  Message: t.String(),
  Details: t.MapOf(t.String()),
  FailsTask: t.Boolean(),
  RestartReason: t.String(),
  SetupError: t.String(),
  DriverError: t.String(),
  DriverMessage: t.String(),
  ExitCode: t.Integer(),
  Signal: t.Integer(),
  KillTimeout: t.Nanoseconds(),
  KillError: t.String(),
  KillReason: t.String(),
  StartDelay: t.Nanoseconds(),
  DownloadError: t.String(),
  ValidationError: t.String(),
  DiskLimit: t.Integer(),
  FailedSibling: t.String(),
  SecretStoreError: t.String(),
  TaskSignal: t.String(),
  TaskSignalReason: t.String(),
  GenericSource: t.String(),
})
export type TaskEvent = t.Infer<typeof TaskEvent>

export const TaskState = t.Named('TaskState', 'Latest state of one task as reported by its node.', {
  State: t.Enum(TASK_STATES),
  Failed: t.Boolean({ description: 'Means something only when the task is dead.' }),
  Restarts: t.Integer(),
  LastRestart: t.Timestamp(),
  StartedAt: t.Timestamp('Last start; a restart changes it.'),
  FinishedAt: t.Timestamp(),
  Events: t.Array(TaskEvent, { description: 'The latest 10, oldest first.' }),
  TaskHandle: t.Null({ description: 'Known to the node only.' }),
  Paused: t.String({ description: 'Why the task is paused; empty when it is not.' }),
})
export type TaskState = t.Infer<typeof TaskState>
