import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { taskEvent } from './task-event.ts'
import { ZERO_TASK_STATE } from '../../model/index.ts'
import { transitionTo, appendEvent } from './task-state.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')

test('only the latest ten events are kept, oldest first', () => {
  let state = ZERO_TASK_STATE
  for (let n = 0; n < 13; n += 1) {
    state = appendEvent(state, taskEvent('Driver', NOW + n, { DriverMessage: String(n) }))
  }
  assert.deepEqual(
    state.Events.map((event) => event.DriverMessage),
    ['3', '4', '5', '6', '7', '8', '9', '10', '11', '12'],
  )
})

test('a restart is counted and dated, and an event that fails the task marks it', () => {
  const restarted = appendEvent(ZERO_TASK_STATE, taskEvent('Restarting', NOW))
  assert.equal(restarted.Restarts, 1)
  assert.equal(restarted.LastRestart, '2026-01-01T00:00:00.000Z')
  assert.equal(restarted.Failed, false)
  assert.equal(
    appendEvent(restarted, taskEvent('Not Restarting', NOW, { FailsTask: true })).Failed,
    true,
  )
})

test('each run sets its start, the end sets the finish, and staying is no move', () => {
  const first = transitionTo(ZERO_TASK_STATE, 'running', NOW)
  const second = transitionTo(transitionTo(first, 'pending', NOW + 1_000), 'running', NOW + 2_000)
  assert.equal(second.StartedAt, '2026-01-01T00:00:02.000Z')
  assert.equal(second.FinishedAt, '0001-01-01T00:00:00Z')
  assert.equal(transitionTo(second, 'running', NOW + 9_000), second)
  assert.equal(transitionTo(second, 'dead', NOW + 3_000).FinishedAt, '2026-01-01T00:00:03.000Z')
})

test('a process that ended before its start was noticed ends at that time', () => {
  const started = appendEvent(
    transitionTo(ZERO_TASK_STATE, 'running', NOW),
    taskEvent('Started', NOW),
  )
  const ended = appendEvent(started, taskEvent('Terminated', NOW - 7))
  const dead = transitionTo(ended, 'dead', NOW - 7)
  assert.deepEqual(
    dead.Events.map(({ Time }) => Time),
    [nsFromMs(NOW), nsFromMs(NOW)],
  )
  assert.equal(dead.FinishedAt, dead.StartedAt)
})

test('a dead task does not run', () => {
  const dead = transitionTo(ZERO_TASK_STATE, 'dead', NOW)
  assert.throws(() => transitionTo(dead, 'running', NOW), /does not go from dead to running/)
})
