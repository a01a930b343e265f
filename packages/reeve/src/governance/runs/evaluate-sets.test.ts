import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ELLIPSIS } from '@reeve/kit/truncate-text.ts'
import { truncateResult, OUTPUT_CHARS_MAX } from './evaluate-sets.ts'

const PASSED = { status: 'passed', findings: [] } as const

test('evaluate sets: long printed output is truncated, whatever its characters', () => {
  const print = 'line\n'.repeat(OUTPUT_CHARS_MAX)
  const { result, warning } = truncateResult({ ...PASSED, output: ['first', { print }] })
  const room = OUTPUT_CHARS_MAX - JSON.stringify('first').length
  assert.deepEqual(result.output, ['first', { print: print.slice(0, room) + ELLIPSIS }])
  assert.equal(warning, '')
})

test('evaluate sets: other output that is too long is omitted with a warning', () => {
  const long = 'x'.repeat(OUTPUT_CHARS_MAX)
  const { result, warning } = truncateResult({ ...PASSED, output: ['first', long, 'last'] })
  assert.deepEqual(result.output, ['first'])
  assert.equal(warning, '2 more outputs are not kept')
})

test('evaluate sets: a result with a member called print is unchanged', () => {
  const output = [{ print: 'no', severity: 'high' }]
  assert.deepEqual(truncateResult({ ...PASSED, output }).result.output, output)
})
