import assert from 'node:assert/strict'
import test from 'node:test'
import { anAllocation } from '../../../test/build/allocation.ts'
import { aJob } from '../../../test/build/job.ts'
import { ALLOCATION_SPLIT, JOB_SPLIT } from './row-splits.ts'
import { encodeSplitRow, joinRowJson, type RowSplit } from '../table/row-json.ts'

function eachFieldIsWritten<Row extends object>(row: Row, pieces: RowSplit<Row>): void {
  const before = { row, text: encodeSplitRow(row, pieces, {}) }
  assert.deepEqual(JSON.parse(joinRowJson(before.text)), JSON.parse(JSON.stringify(row)))
  for (const name of Object.keys(row)) {
    const changed = { ...row, [name]: 'changed' }
    const text = joinRowJson(
      encodeSplitRow(changed, pieces, { previous: before, neighbour: before }),
    )
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(changed)), name)
  }
}

test('row splits: every changed job field is in its JSON', () => {
  eachFieldIsWritten(aJob(), JOB_SPLIT)
})

test('row splits: every changed allocation field is in its JSON', () => {
  eachFieldIsWritten(anAllocation(), ALLOCATION_SPLIT)
})

test('row splits: the specification JSON is reused when the job status changes', () => {
  const job = aJob()
  const text = { common: '{"marked":1}', steady: '{"marked":2}', body: '{}' }
  const after = { ...job, Status: 'dead' as const, ModifyIndex: 9 }
  const written = encodeSplitRow(after, JOB_SPLIT, { previous: { row: job, text } })
  assert.equal(written.common, text.common)
  assert.equal(written.steady, text.steady)
})
