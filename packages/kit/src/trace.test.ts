import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTraceparent, parseTraceparent } from './trace.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

test('a header of the present version is read, and written as it was', () => {
  for (const [flags, isSampled] of [
    ['01', true],
    ['00', false],
  ] as const) {
    const text = `00-${TRACE}-${SPAN}-${flags}`
    const context = parseTraceparent(text)
    assert.deepEqual(context, { traceId: TRACE, spanId: SPAN, isSampled })
    assert.equal(formatTraceparent(context), text)
  }
})

test('later versions may have more flags and fields', () => {
  for (const text of [`01-${TRACE}-${SPAN}-03`, `cc-${TRACE}-${SPAN}-01-what-comes-later`])
    assert.deepEqual(parseTraceparent(text), { traceId: TRACE, spanId: SPAN, isSampled: true })
})

test('parseTraceparent: rejects invalid headers', () => {
  const wrong = [
    undefined,
    ['00', TRACE],
    '',
    'ff',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}`,
    ` 00-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01-${'x'.repeat(1_000)}`,
  ]
  for (const one of wrong) assert.equal(parseTraceparent(one), undefined, String(one))
})
