import { Type } from 'typebox'
import { Named, MapOf, Nanoseconds, Timestamp, type Infer } from '../schema.ts'

export const TASK_STATES = ['pending', 'running', 'dead'] as const
export type TaskStateName = (typeof TASK_STATES)[number]

/** Those after `Building Task Directory` from the references. */
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
export const TaskEvent = Named('TaskEvent', 'Something that happened to a task.', {
  Type: Type.String({ description: 'One of the known types, or the name of a driver event.' }),
  Time: Nanoseconds(),
  DisplayMessage: Type.String({ description: 'A sentence for people.' }),
  Message: Type.String(),
  Details: MapOf(Type.String()),
  FailsTask: Type.Boolean(),
  RestartReason: Type.String(),
  SetupError: Type.String(),
  DriverError: Type.String(),
  DriverMessage: Type.String(),
  ExitCode: Type.Integer(),
  Signal: Type.Integer(),
  KillTimeout: Nanoseconds(),
  KillError: Type.String(),
  KillReason: Type.String(),
  StartDelay: Nanoseconds(),
  DownloadError: Type.String(),
  ValidationError: Type.String(),
  DiskLimit: Type.Integer(),
  FailedSibling: Type.String(),
  SecretStoreError: Type.String(),
  TaskSignal: Type.String(),
  TaskSignalReason: Type.String(),
  GenericSource: Type.String(),
})
export type TaskEvent = Infer<typeof TaskEvent>

export const TaskState = Named('TaskState', 'Latest state of one task as reported by its node.', {
  State: Type.Enum(TASK_STATES),
  Failed: Type.Boolean({ description: 'Means something only when the task is dead.' }),
  Restarts: Type.Integer(),
  LastRestart: Timestamp(),
  StartedAt: Timestamp('Last start; a restart changes it.'),
  FinishedAt: Timestamp(),
  Events: Type.Array(TaskEvent, { description: 'The latest 10, oldest first.' }),
  TaskHandle: Type.Null({ description: 'Known to the node only.' }),
  Paused: Type.String({ description: 'Why the task is paused; empty when it is not.' }),
})
export type TaskState = Infer<typeof TaskState>
