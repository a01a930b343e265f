import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newestFirst } from './scheduling.ts'

test('the newest evaluation is first, and what goes on from another is newer than it', () => {
  const old = { ID: 'old', CreateIndex: 7, PreviousEval: '' }
  const done = { ID: 'done', CreateIndex: 9, PreviousEval: '' }
  const waits = { ID: 'waits', CreateIndex: 9, PreviousEval: 'done' }
  for (const list of [
    [old, done, waits],
    [waits, done, old],
    [done, waits, old],
  ])
    assert.deepEqual(
      list.toSorted(newestFirst).map(({ ID }) => ID),
      ['waits', 'done', 'old'],
    )
})
