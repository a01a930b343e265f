import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readJson } from './job-source.ts'

test('a job may be alone or in a request', () => {
  assert.deepEqual(readJson('{"ID":"a"}').job, { ID: 'a' })
  assert.deepEqual(readJson('{"Job":{"ID":"a"}}').job, { ID: 'a' })
})

test('what is no JSON has a place', () => {
  const { job, problems } = readJson('{\n  "ID": "a" "b"\n}')
  assert.equal(job, undefined)
  assert.deepEqual([problems[0]?.line, problems[0]?.column], [2, 13])
})

test('what is no object is no job', () => {
  assert.equal(readJson('12').problems[0]?.message, 'A job is an object.')
})
