import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addSample, SAMPLES_MAX, type Columns } from './samples.ts'

test('samples become columns', () => {
  assert.deepEqual(addSample(addSample([], [1, 10]), [2, 20]), [
    [1, 2],
    [10, 20],
  ])
})

test('what was measured before is not added again', () => {
  const columns = addSample([], [5, 1])
  assert.equal(addSample(columns, [5, 2]), columns)
  assert.equal(addSample(columns, [4, 2]), columns)
})

test('the oldest go when there are too many', () => {
  let columns: Columns = []
  for (let time = 1; time <= SAMPLES_MAX + 5; time++) columns = addSample(columns, [time, 0])
  assert.equal(columns[0]?.length, SAMPLES_MAX)
  assert.equal(columns[0]?.[0], 6)
})
