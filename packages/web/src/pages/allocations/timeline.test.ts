import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TaskEvent, TaskState } from '@reeve/contract'
import { timelineEvents } from './timeline.ts'

const EVENT: TaskEvent = {
  Type: 'Received',
  Time: 1,
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

function aState(...events: readonly Partial<TaskEvent>[]): TaskState {
  return {
    State: 'running',
    Failed: false,
    Restarts: 0,
    LastRestart: '',
    StartedAt: '',
    FinishedAt: '',
    Events: events.map((event) => ({ ...EVENT, ...event })),
    TaskHandle: null,
    Paused: '',
  }
}

test('events of all tasks come in one row, the newest first', () => {
  const TaskStates = {
    main: aState({ Time: 1 }, { Type: 'Started', Time: 4 }),
    side: aState({ Time: 2 }, { Type: 'Started', Time: 3 }),
  }
  assert.deepEqual(
    timelineEvents({ TaskStates }).map(({ task, timeNs }) => `${task} ${timeNs}`),
    ['main 4', 'side 3', 'side 2', 'main 1'],
  )
})

test('events of one moment keep the order in which they happened', () => {
  const TaskStates = { main: aState({ Type: 'Received' }, { Type: 'Started' }) }
  assert.deepEqual(
    timelineEvents({ TaskStates }).map(({ type }) => type),
    ['Started', 'Received'],
  )
})

test('a process that ended before its start was noted has still started first', () => {
  const TaskStates = { main: aState({ Type: 'Started', Time: 5 }, { Type: 'Terminated', Time: 3 }) }
  assert.deepEqual(
    timelineEvents({ TaskStates }).map(({ type }) => type),
    ['Terminated', 'Started'],
  )
})

const TONES = [
  { event: { Type: 'Started' }, tone: 'good' },
  { event: { Type: 'Terminated', ExitCode: 0 }, tone: 'done' },
  { event: { Type: 'Terminated', ExitCode: 3 }, tone: 'bad' },
  { event: { Type: 'Driver Failure' }, tone: 'bad' },
  { event: { Type: 'Driver', FailsTask: true }, tone: 'bad' },
  { event: { Type: 'Restarting' }, tone: 'warn' },
  { event: { Type: 'Received' }, tone: 'idle' },
]
for (const { event, tone } of TONES)
  test(`${JSON.stringify(event)} looks ${tone}`, () =>
    assert.equal(timelineEvents({ TaskStates: { main: aState(event) } })[0]?.tone, tone))

test('what never ran has no moments', () =>
  assert.deepEqual(timelineEvents({ TaskStates: null }), []))
