import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TaskEvent } from '@reeve/contract'
import { Value } from 'typebox/value'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { terminatedEvent } from './kill-task.ts'
import { taskEvent, WITHIN_POLICY } from './task-event.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')

test('an event has every field of the contract and its time in nanoseconds', () => {
  const event = taskEvent('Started', NOW)
  assert.ok(Value.Check(TaskEvent, event))
  assert.equal(event.Time, NOW * 1_000_000)
  assert.deepEqual(event.Details, {})
})

const KILLED = { exitCode: 137, signal: 9, oomKilled: true, atMs: NOW }

const cases = [
  {
    name: 'a normal exit',
    event: taskEvent('Terminated', NOW, {
      ExitCode: 0,
      Signal: 0,
      details: { oom_killed: 'false' },
    }),
    message: 'Exit Code: 0',
    details: { exit_code: '0', signal: '0', oom_killed: 'false' },
  },
  {
    name: 'an exit by signal with a word of the driver',
    event: taskEvent('Terminated', NOW, { ExitCode: 137, Signal: 9, Message: 'out of memory' }),
    message: 'Exit Code: 137, Signal: 9, Exit Message: "out of memory"',
    details: { exit_code: '137', signal: '9', message: 'out of memory' },
  },
  {
    name: 'an end for want of memory',
    event: terminatedEvent({ ...KILLED, message: '' }),
    message: 'Exit Code: 137, Signal: 9, Exit Message: "OOM Killed"',
    details: {
      exit_code: '137',
      signal: '9',
      oom_killed: 'true',
      exit_message: 'OOM Killed',
      message: 'OOM Killed',
    },
  },
  {
    name: 'an end for want of memory of which the driver says more',
    event: terminatedEvent({ ...KILLED, message: '2 processes survived' }),
    message: 'Exit Code: 137, Signal: 9, Exit Message: "OOM Killed: 2 processes survived"',
    details: {
      exit_code: '137',
      signal: '9',
      oom_killed: 'true',
      exit_message: 'OOM Killed: 2 processes survived',
      message: 'OOM Killed: 2 processes survived',
    },
  },
  {
    name: 'a restart within policy does not repeat the reason',
    event: taskEvent('Restarting', NOW, {
      RestartReason: WITHIN_POLICY,
      StartDelay: nsFromMs(15_500),
    }),
    message: 'Task restarting in 15.5s',
    details: { restart_reason: WITHIN_POLICY, start_delay: '15500000000' },
  },
  {
    name: 'another restart does',
    event: taskEvent('Restarting', NOW, {
      RestartReason: 'Too many',
      StartDelay: nsFromMs(60_000),
    }),
    message: 'Too many - Task restarting in 1m0s',
    details: { restart_reason: 'Too many', start_delay: '60000000000' },
  },
  {
    name: 'a kill names the grace period',
    event: taskEvent('Killing', NOW, { KillTimeout: nsFromMs(5_000) }),
    message: 'Task is being stopped; force follows 5s after the kill signal',
    details: { kill_timeout: '5s' },
  },
  {
    name: 'a failed sibling is named',
    event: taskEvent('Sibling Task Failed', NOW, { FailedSibling: 'db' }),
    message: 'Task "db" of the same group failed',
    details: { failed_sibling: 'db' },
  },
  {
    name: 'a driver error is shown',
    event: taskEvent('Driver Failure', NOW, { DriverError: 'command "x" was not found' }),
    message: 'command "x" was not found',
    details: { driver_error: 'command "x" was not found' },
  },
  {
    name: 'a download error is shown',
    event: taskEvent('Failed Artifact Download', NOW, { DownloadError: 'answered with 404' }),
    message: 'answered with 404',
    details: { download_error: 'answered with 404' },
  },
  {
    name: 'what fails the task says so',
    event: taskEvent('Not Restarting', NOW, {
      RestartReason: 'Policy allows no restarts',
      FailsTask: true,
    }),
    message: 'Policy allows no restarts',
    details: { restart_reason: 'Policy allows no restarts', fails_task: 'true' },
  },
  {
    name: 'a signal names signal and reason',
    event: taskEvent('Signaling', NOW, { TaskSignal: 'SIGHUP', TaskSignalReason: 'asked for' }),
    message: 'Signal SIGHUP sent: asked for',
    details: { task_signal: 'SIGHUP', task_signal_reason: 'asked for' },
  },
  {
    name: 'a type without a sentence shows its message',
    event: taskEvent('Task hook failed', NOW, { Message: 'disk full' }),
    message: 'disk full',
    details: { message: 'disk full' },
  },
]
for (const c of cases) {
  test(`task event: ${c.name}`, () => {
    assert.equal(c.event.DisplayMessage, c.message)
    assert.deepEqual(c.event.Details, c.details)
  })
}
