import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Deadlines } from './deadlines.ts'

function takeAll(deadlines: Deadlines, nowMs: number): readonly string[] {
  const taken: string[] = []
  for (let id = deadlines.take(nowMs); id !== undefined; id = deadlines.take(nowMs)) taken.push(id)
  return taken
}

test('deadlines: who was put off is due at the later time, and once', () => {
  const deadlines = new Deadlines()
  deadlines.set('a', 10)
  deadlines.set('b', 20)
  deadlines.set('a', 30)
  assert.deepEqual(takeAll(deadlines, 9), [])
  assert.deepEqual(takeAll(deadlines, 25), ['b'])
  assert.equal(deadlines.nextMs, 30)
  assert.deepEqual(takeAll(deadlines, 30), ['a'])
  assert.equal(deadlines.nextMs, undefined)
})

test('deadlines: who was brought forward is due at the earlier time, and once', () => {
  const deadlines = new Deadlines()
  deadlines.set('a', 60)
  deadlines.set('a', 20)
  assert.equal(deadlines.nextMs, 20)
  assert.deepEqual(takeAll(deadlines, 20), ['a'])
  assert.deepEqual(takeAll(deadlines, 60), [])
})

test('deadlines: whatever order they are set and moved in, each is taken when its time has come', () => {
  const step = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    delayMs: fc.integer({ min: 1, max: 50 }),
    passMs: fc.integer({ min: 0, max: 20 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const deadlines = new Deadlines()
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
