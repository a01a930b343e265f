import type { TaskEventType } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { TaskEventFields } from './task-event.ts'

interface StartFailureEvent {
  readonly type: TaskEventType
  readonly fields: TaskEventFields
}

/** Event for a task that could not be started. `wasDriverCalled`: the driver had been called. */
export function startFailureEvent(thrown: unknown, wasDriverCalled: boolean): StartFailureEvent {
  const message = errorMessage(thrown)
  const kind = thrown instanceof Fault ? thrown.kind : ''
  switch (kind) {
    // The driver validates its configuration before it starts anything.
    case 'task-config':
    case 'task-invalid':
      return { type: 'Failed Validation', fields: { ValidationError: message } }
    case 'agent-state':
      return { type: 'Setup Failure', fields: { SetupError: message } }
    case 'task-artifact':
      return { type: 'Failed Artifact Download', fields: { DownloadError: message } }
    case 'task-unstartable':
    case 'task-start':
      return { type: 'Driver Failure', fields: { DriverError: message } }
    default:
      return wasDriverCalled
        ? { type: 'Driver Failure', fields: { DriverError: message } }
        : { type: 'Task hook failed', fields: { Message: message } }
  }
}
