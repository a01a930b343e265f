import type { ReportedTaskState, TaskEvent, TaskState } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { isEqual } from '../deep-equal.ts'

/** A stored task state. An event has 24 fields of which few apply; only those are stored. */
type StoredTaskState = ReportedTaskState

export type StoredTaskStates = Readonly<Record<string, StoredTaskState>>

const ZERO_EVENT: TaskEvent = {
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

const ZERO_STATE: TaskState = {
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

/**
 * Returns the compact form of the reported states; null if none were reported. Returns the same
 * object if it is already compact, because agents omit zero values and every report passes here.
 */
export function compactTaskStates(states: StoredTaskStates | null): StoredTaskStates | null {
  if (states === null || Object.values(states).every(isCompact)) return states
  return mapValues(states, ({ Events: events, ...state }) => ({
    ...withoutZeros(state, ZERO_STATE),
    ...(events === undefined ? {} : { Events: events.map((one) => withoutZeros(one, ZERO_EVENT)) }),
  }))
}

function isCompact(state: StoredTaskState): boolean {
  for (const name of Object.keys(state))
    if (name !== 'Events' && isZero(state, name, ZERO_STATE)) return false
  for (const event of state.Events ?? [])
    for (const name of Object.keys(event)) if (isZero(event, name, ZERO_EVENT)) return false
  return true
}

/** Returns the states with all fields, including zero values. */
export function expandTaskStates(
  stored: StoredTaskStates | null | undefined,
): Readonly<Record<string, TaskState>> | null {
  if (stored === null || stored === undefined) return null
  return mapValues(stored, ({ Events: events, ...state }) => ({
    ...ZERO_STATE,
    ...state,
    Events: (events ?? []).map((event) => ({ ...ZERO_EVENT, ...event })),
  }))
}

function mapValues<I, O>(
  map: Readonly<Record<string, I>>,
  convert: (value: I) => O,
): Readonly<Record<string, O>> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, convert(value)]))
}

function withoutZeros<T extends object>(value: T, zeros: object): Partial<T> {
  const fields = Object.entries(value).filter(([name]) => !isZero(value, name, zeros))
  // Proof: the entries are fields of `value`.
  return Object.fromEntries(fields) as Partial<T>
}

function isZero(value: object, name: string, zeros: object): boolean {
  const field: unknown = Reflect.get(value, name)
  const zero: unknown = Reflect.get(zeros, name)
  return field === zero || (typeof field === 'object' && isEqual(field, zero))
}
