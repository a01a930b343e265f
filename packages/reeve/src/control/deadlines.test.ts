import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HeartbeatDeadlines } from './heartbeat-monitor.ts'

function takeAll(deadlines: HeartbeatDeadlines, nowMs: number): readonly string[] {
  const taken: string[] = []
  for (let id = deadlines.takeDue(nowMs); id !== undefined; id = deadlines.takeDue(nowMs))
    taken.push(id)
  return taken
}

test('deadlines: extended deadline is due later, and once', () => {
  const deadlines = new HeartbeatDeadlines()
  deadlines.set('a', 10)
  deadlines.set('b', 20)
  deadlines.set('a', 30)
  assert.deepEqual(takeAll(deadlines, 9), [])
  assert.deepEqual(takeAll(deadlines, 25), ['b'])
  assert.equal(deadlines.nextMs, 30)
  assert.deepEqual(takeAll(deadlines, 30), ['a'])
  assert.equal(deadlines.nextMs, undefined)
})

test('deadlines: shortened deadline is due earlier, and once', () => {
  const deadlines = new HeartbeatDeadlines()
  deadlines.set('a', 60)
  deadlines.set('a', 20)
  assert.equal(deadlines.nextMs, 20)
  assert.deepEqual(takeAll(deadlines, 20), ['a'])
  assert.deepEqual(takeAll(deadlines, 60), [])
})

test('deadlines: any order of changes keeps due times', () => {
  const step = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    delayMs: fc.integer({ min: 1, max: 50 }),
    passMs: fc.integer({ min: 0, max: 20 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const deadlines = new HeartbeatDeadlines()
      const wanted = new Map<string, number>()
      let nowMs = 0
      for (const { id, delayMs, passMs } of steps) {
        const dueMs = nowMs + delayMs
        deadlines.set(id, dueMs)
        wanted.set(id, dueMs)
        nowMs += passMs
        const due = [...wanted].filter(([, atMs]) => atMs <= nowMs).map(([one]) => one)
        assert.deepEqual([...takeAll(deadlines, nowMs)].toSorted(), due.toSorted())
        for (const one of due) wanted.delete(one)
        assert.ok([...wanted.values()].every((atMs) => atMs >= (deadlines.nextMs ?? Infinity)))
      }
    }),
  )
})
