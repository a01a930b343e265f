import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noPaint } from '../output/color.ts'
import { formatCheckSummary } from './inspect.ts'

test('service info: the output of a failing check is short and printable', () => {
  const shown = (Output: string): string =>
    formatCheckSummary(
      { Checks: { Passing: 1, Failing: 1, Pending: 0, Output } },
      { paint: noPaint },
    )
  assert.equal(shown('refused\nmore'), '1 of 2 passing: refused')
  assert.equal(shown(''), '1 of 2 passing')
  assert.equal(shown('a\u001b[31mb'), String.raw`1 of 2 passing: a\x1b[31mb`)
  assert.equal(shown('x'.repeat(300)), `1 of 2 passing: ${'x'.repeat(59)}…`)
})
