import assert from 'node:assert/strict'
import { test } from 'node:test'
import { summarize } from './client-status.ts'

const pending = { State: 'pending', Failed: false } as const
const running = { State: 'running', Failed: false } as const
const dead = { State: 'dead', Failed: false } as const
const failed = { State: 'dead', Failed: true } as const

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
  test(`summarize: ${c.name}`, () => assert.equal(summarize(c.states).ClientStatus, c.status))
}
