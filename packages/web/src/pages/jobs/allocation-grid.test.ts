import assert from 'node:assert/strict'
import { test } from 'node:test'
import { computeGrid, gridTotal } from './allocation-grid.ts'

const CASES = [
  { name: 'hundreds are of a size to look at', count: 700, width: 600, columns: 60, rows: 12 },
  { name: 'thousands are smaller', count: 4_000, width: 700, columns: 100, rows: 40 },
  { name: 'ten thousand fit a screen', count: 10_000, width: 600, columns: 150, rows: 67 },
  { name: 'a window without width has one column', count: 3, width: 0, columns: 1, rows: 3 },
]
for (const { name, count, width, columns, rows } of CASES)
  test(`squares: ${name}`, () => {
    const grid = computeGrid(count, width)
    assert.deepEqual([grid.columns, grid.rows], [columns, rows])
    assert.ok(columns === 1 || grid.columns * grid.stepPx <= width)
  })

test('squares: what is missing has a square too', () => {
  const counts = { running: 5, pending: 2, unknown: 0, failed: 1, lost: 0, complete: 0 }
  assert.equal(gridTotal(counts, 3), 11)
})
