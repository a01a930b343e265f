import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hiddenSides } from './layout.ts'

const cases = [
  { name: 'what fits hides nothing', at: [0, 390, 390], hidden: 'none' },
  { name: 'a rounded pixel is nothing', at: [0.5, 390, 391], hidden: 'none' },
  { name: 'at the start there is more at the end', at: [0, 390, 700], hidden: 'end' },
  { name: 'in the middle there is more at both', at: [100, 390, 700], hidden: 'both' },
  { name: 'at the end there is more at the start', at: [310, 390, 700], hidden: 'start' },
] as const
for (const { name, at, hidden } of cases)
  test(`hidden sides: ${name}`, () => {
    const [scrollLeft, clientWidth, scrollWidth] = at
    assert.equal(hiddenSides({ scrollLeft, clientWidth, scrollWidth }), hidden)
  })
