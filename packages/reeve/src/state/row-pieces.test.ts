import assert from 'node:assert/strict'
import test from 'node:test'
import { anAllocation } from '../../test/build/allocation.ts'
import { aJob } from '../../test/build/job.ts'
import { ALLOCATION_PIECES } from './allocation-pieces.ts'
import { JOB_PIECES } from './job-pieces.ts'
import { textInPieces, wholeText, type RowPieces } from './row-text.ts'

function eachFieldIsWritten<Row extends object>(row: Row, pieces: RowPieces<Row>): void {
  const before = { row, text: textInPieces(row, pieces, {}) }
  assert.deepEqual(JSON.parse(wholeText(before.text)), JSON.parse(JSON.stringify(row)))
  for (const name of Object.keys(row)) {
    const changed = { ...row, [name]: 'changed' }
    const text = wholeText(textInPieces(changed, pieces, { before, beside: before }))
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(changed)), name)
  }
}

test('whatever changes of a job is in its text', () => {
  eachFieldIsWritten(aJob(), JOB_PIECES)
})

test('whatever changes of an allocation is in its text', () => {
  eachFieldIsWritten(anAllocation(), ALLOCATION_PIECES)
})

test('the text of a specification is taken over when the status of its job changes', () => {
  const job = aJob()
  const text = { common: '{"marked":1}', steady: '{"marked":2}', body: '{}' }
  const after = { ...job, Status: 'dead' as const, ModifyIndex: 9 }
  const written = textInPieces(after, JOB_PIECES, { before: { row: job, text } })
  assert.equal(written.common, text.common)
  assert.equal(written.steady, text.steady)
})
