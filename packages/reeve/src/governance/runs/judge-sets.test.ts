import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ELLIPSIS } from '@reeve/kit/truncate-text.ts'
import { bounded, OUTPUT_CHARS_MAX } from './judge-sets.ts'

const PASSED = { status: 'passed', findings: [] } as const

test('judge sets: of a long text that was printed the beginning is kept, however it is written', () => {
  const print = 'line\n'.repeat(OUTPUT_CHARS_MAX)
  const { judgement, warning } = bounded({ ...PASSED, output: ['first', { print }] })
  const room = OUTPUT_CHARS_MAX - JSON.stringify('first').length
  assert.deepEqual(judgement.output, ['first', { print: print.slice(0, room) + ELLIPSIS }])
  assert.equal(warning, '')
})

test('judge sets: any other output that is too long is left out, and that is said', () => {
  const long = 'x'.repeat(OUTPUT_CHARS_MAX)
  const { judgement, warning } = bounded({ ...PASSED, output: ['first', long, 'last'] })
  assert.deepEqual(judgement.output, ['first'])
  assert.equal(warning, '2 more outputs are not kept')
})

test('judge sets: an answer with a field called print is kept as it is', () => {
  const output = [{ print: 'no', severity: 'high' }]
  assert.deepEqual(bounded({ ...PASSED, output }).judgement.output, output)
})
