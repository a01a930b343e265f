import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSameSource, parseJsonJob, type JobSource } from './job-source.ts'

test('a job may be alone or in a request', () => {
  assert.deepEqual(parseJsonJob('{"ID":"a"}').job, { ID: 'a' })
  assert.deepEqual(parseJsonJob('{"Job":{"ID":"a"}}').job, { ID: 'a' })
})

test('what is no JSON has a place', () => {
  const { job, problems } = parseJsonJob('{\n  "ID": "a" "b"\n}')
  assert.equal(job, undefined)
  assert.deepEqual([problems[0]?.line, problems[0]?.column], [2, 13])
})

test('what is no object is no job', () => {
  for (const text of ['12', 'null', '[{"ID":"a"}]', '{"Job":[]}'])
    assert.equal(parseJsonJob(text).problems[0]?.message, 'A job is an object.', text)
})

test('what has no name is no job', () => {
  for (const text of ['{}', '{"ID":""}', '{"Job":{"ID":5}}', '{"ID":null}']) {
    const { job, problems } = parseJsonJob(text)
    assert.equal(job, undefined, text)
    assert.equal(problems[0]?.message, 'A job has an ID, a text that is not empty.', text)
  }
})

test('a plan stands while the definition says the same, whichever object says it', () => {
  const planned: JobSource = { text: 'job "a" {}', format: 'hcl2', variables: 'x = 1' }
  assert.ok(isSameSource(planned, { ...planned }))
  for (const other of [{ text: '' }, { format: 'json' }, { variables: '' }] as const)
    assert.ok(!isSameSource(planned, { ...planned, ...other }))
})
