import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { notRunningFault } from '../task/kill-task.ts'
import { ZERO_TASK_STATE } from '../../model/index.ts'
import type { ExecSession } from '../driver.ts'
import { execWhenAttached } from './exec.ts'

const request = { command: ['/bin/true'], tty: undefined }
// Only handed on.
const session = {} as ExecSession

const cases = [
  { name: 'at once when the task is there', attachedMs: 0, State: 'running', wanted: 'runs' },
  { name: 'when it was found again', attachedMs: 2_000, State: 'running', wanted: 'runs' },
  { name: 'not for ever', attachedMs: 60_000, State: 'running', wanted: 'task-not-running' },
  { name: 'not in a task that is dead', attachedMs: 1, State: 'dead', wanted: 'task-not-running' },
] as const

for (const { name, attachedMs, State, wanted } of cases)
  test(`a command runs ${name}`, async () => {
    const clock = new SimulatedClock(0)
    const outcome = execWhenAttached(
      {
        state: { ...ZERO_TASK_STATE, State },
        exec: async () => {
          if (clock.nowMs() < attachedMs) throw notRunningFault('web')
          return session
        },
      },
      request,
      clock,
    ).then(
      () => 'runs',
      (thrown: Fault) => thrown.kind,
    )
    for (let ms = 0; ms < 6_000; ms += 50) {
      await turn()
      clock.advance(50)
    }
    assert.equal(await outcome, wanted)
  })

test('other failures of a command are returned immediately', async () => {
  const task = {
    state: { ...ZERO_TASK_STATE, State: 'running' as const },
    exec: () => Promise.reject(new Fault('task-exec', 'no such program')),
  }
  await assert.rejects(execWhenAttached(task, request, new SimulatedClock()), { kind: 'task-exec' })
})
