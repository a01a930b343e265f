import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { clientStatusOf } from './lifecycle.ts'

const STARTED = '2030-01-01T00:00:00Z'
const pending = { State: 'pending', Failed: false, StartedAt: ZERO_TIME } as const
const restarting = { ...pending, StartedAt: STARTED }
const running = { State: 'running', Failed: false, StartedAt: STARTED } as const
const dead = { State: 'dead', Failed: false, StartedAt: STARTED } as const
const failed = { ...dead, Failed: true }

const cases = [
  {
    name: 'a failed task fails it, whatever else runs',
    states: [running, failed],
    status: 'failed',
  },
  { name: 'one running task is enough', states: [pending, running, dead], status: 'running' },
  { name: 'nothing runs, something will', states: [pending, dead], status: 'pending' },
  { name: 'all ended well', states: [dead, dead], status: 'complete' },
]
for (const c of cases) {
  test(`summarize: ${c.name}`, () => assert.equal(clientStatusOf(c.states).ClientStatus, c.status))
}

test('summarize: what waits to be started again has started before', () => {
  const told = (...states: Parameters<typeof clientStatusOf>[0][]) =>
    states.map((one) => clientStatusOf(one).ClientDescription)
  assert.deepEqual(told([pending, pending], [restarting], [pending, dead]), [
    'No tasks have started',
    'No tasks are running',
    'No tasks are running',
  ])
})
