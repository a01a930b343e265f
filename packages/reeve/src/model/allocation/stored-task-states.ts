import type { ReportedTaskState, TaskEvent, TaskState } from '@reeve/contract'
import { ZERO_TIME } from '../../kit/duration.ts'
import { isEqual } from '../deep-equal.ts'

/** An event has 24 fields of which a handful apply: only those are stored. */
type StoredTaskState = ReportedTaskState

export type StoredTaskStates = Readonly<Record<string, StoredTaskState>>

const NO_EVENT: TaskEvent = {
  Type: '',
  Time: 0,
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

const NO_STATE: TaskState = {
  State: 'pending',
  Failed: false,
  Restarts: 0,
  LastRestart: ZERO_TIME,
  StartedAt: ZERO_TIME,
  FinishedAt: ZERO_TIME,
  Events: [],
  TaskHandle: null,
  Paused: '',
}

/** The compact form of what a node reported; null when it reported nothing. */
export function storeTaskStates(states: StoredTaskStates | null): StoredTaskStates | null {
  if (states === null) return null
  return mapValues(states, ({ Events: events, ...state }) => ({
    ...withoutZeros(state, NO_STATE),
    ...(events === undefined ? {} : { Events: events.map((one) => withoutZeros(one, NO_EVENT)) }),
  }))
}

/** Spec W: TaskState and Task event: every field, zero values included. */
export function taskStatesView(
  stored: StoredTaskStates | null | undefined,
): Readonly<Record<string, TaskState>> | null {
  if (stored === null || stored === undefined) return null
  return mapValues(stored, ({ Events: events, ...state }) => ({
    ...NO_STATE,
    ...state,
    Events: (events ?? []).map((event) => ({ ...NO_EVENT, ...event })),
  }))
}

function mapValues<I, O>(
  map: Readonly<Record<string, I>>,
  convert: (value: I) => O,
): Readonly<Record<string, O>> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, convert(value)]))
}

/** The value itself when nothing has to go: every report of every node passes here. */
function withoutZeros<T extends object>(value: T, zeros: object): Partial<T> {
  const isZero = ([name, field]: [string, unknown]): boolean =>
    isEqual(field, Reflect.get(zeros, name))
  const fields = Object.entries(value)
  if (!fields.some(isZero)) return value
  // Fields of `value` with their values, some left out.
  return Object.fromEntries(fields.filter((field) => !isZero(field))) as Partial<T>
}
