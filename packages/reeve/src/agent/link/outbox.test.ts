import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusMessage, type AllocationUpdate } from '@reeve/contract'
import { Value } from 'typebox/value'
import { allocationId } from '../../../test/build/agent.ts'
import { expandTaskStates } from '../../model/index.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { taskEvent } from '../task/task-event.ts'
import { ZERO_TASK_STATE } from '../../model/index.ts'
import { StatusOutbox, type StatusReport } from './outbox.ts'

function update(n: number, fields: Partial<AllocationUpdate> = {}): AllocationUpdate {
  return {
    ID: allocationId(n),
    ClientStatus: 'running',
    ClientDescription: '',
    TaskStates: null,
    ...fields,
  }
}

function read(report: StatusReport | undefined): readonly AllocationUpdate[] {
  assert.ok(report !== undefined)
  const message: unknown = JSON.parse(report.json)
  assert.ok(Value.Check(StatusMessage, message))
  assert.equal(message.seq, report.seq)
  // Zero values are left out on the way (contract: ReportedTaskState).
  return message.updates.map((told) => ({ ...told, TaskStates: expandTaskStates(told.TaskStates) }))
}

test('one report is on its way at a time, and carries the latest word on each allocation', () => {
  const outbox = new StatusOutbox()
  outbox.add(update(1, { ClientStatus: 'pending' }))
  const first = outbox.next()
  assert.deepEqual(read(first), [update(1, { ClientStatus: 'pending' })])
  outbox.add(update(1))
  outbox.add(update(2))
  outbox.add(update(1, { ClientStatus: 'complete' }))
  assert.equal(outbox.next(), undefined)
  assert.equal(outbox.acknowledge(first?.seq ?? 0), true)
  assert.deepEqual(read(outbox.next()), [update(1, { ClientStatus: 'complete' }), update(2)])
})

test('a receipt for another report frees nothing', () => {
  const outbox = new StatusOutbox()
  outbox.add(update(1))
  const first = outbox.next()
  outbox.add(update(2))
  assert.equal(outbox.acknowledge(99), false)
  assert.equal(outbox.next(), undefined)
  assert.equal(outbox.acknowledge(first?.seq ?? 0), true)
  assert.equal(outbox.acknowledge(first?.seq ?? 0), false)
})

test('a new channel gets everything again, with sequence number 1', () => {
  const outbox = new StatusOutbox()
  outbox.add(update(1))
  outbox.next()
  outbox.add(update(2))
  outbox.reset([update(1), update(3)])
  const report = outbox.next()
  assert.equal(report?.seq, 1)
  assert.deepEqual(read(report), [update(1), update(3)])
})

test('many allocations are split into several reports, none lost', () => {
  const outbox = new StatusOutbox()
  const count = AGENT_LIMITS.reportedAllocationsMax * 2 + 1
  for (let n = 0; n < count; n += 1) outbox.add(update(n))
  const told: string[] = []
  for (let report = outbox.next(); report !== undefined; report = outbox.next()) {
    told.push(...read(report).map((one) => one.ID))
    outbox.acknowledge(report.seq)
  }
  assert.equal(told.length, count)
  assert.equal(new Set(told).size, count)
})

test('a history too long for a message is cut to the last event of each task', () => {
  const events = Array.from({ length: 10 }, (_, n) => {
    return taskEvent('Driver', n, { DriverMessage: `${n} ${'x'.repeat(500)}` })
  })
  const names = Array.from({ length: 500 }, (_, n) => `task-${n}`)
  const state = { ...ZERO_TASK_STATE, Events: events }
  const TaskStates = Object.fromEntries(names.map((name) => [name, state]))
  const outbox = new StatusOutbox()
  outbox.add(update(1, { TaskStates }))
  const [told] = read(outbox.next())
  assert.equal(Object.keys(told?.TaskStates ?? {}).length, 500)
  assert.deepEqual(told?.TaskStates?.['task-7']?.Events, events.slice(-1))
})
