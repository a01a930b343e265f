import type { TaskEventType } from '@reeve/contract'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { TaskEventFields } from './task-event.ts'

interface FailedStart {
  readonly type: TaskEventType
  readonly fields: TaskEventFields
}

/**
 * Which event tells that a task could not be started. `wasAsked`: the driver was already told to.
 */
export function failedStart(thrown: unknown, wasAsked: boolean): FailedStart {
  const message = errorMessage(thrown)
  const kind = thrown instanceof Fault ? thrown.kind : ''
  switch (kind) {
    // The driver's own check of its configuration comes before any start.
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
      return wasAsked
        ? { type: 'Driver Failure', fields: { DriverError: message } }
        : { type: 'Task hook failed', fields: { Message: message } }
  }
}
