import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterExpression } from './job-filter.ts'

const NONE = { text: '', status: '', type: '' }
const CASES = [
  { filter: NONE, expression: undefined },
  { filter: { ...NONE, text: 'web' }, expression: 'ID contains "web"' },
  { filter: { ...NONE, text: 'Priority == 70' }, expression: '(Priority == 70)' },
  { filter: { ...NONE, text: 'a"b' }, expression: 'ID contains `a"b`' },
  { filter: { ...NONE, status: 'stopped' }, expression: 'Stop == true' },
  {
    filter: { text: 'web', status: 'running', type: 'batch' },
    expression: 'ID contains "web" and Status == "running" and Type == "batch"',
  },
]

for (const { filter, expression } of CASES)
  test(`jobs are narrowed to ${expression ?? 'nothing'}`, () =>
    assert.equal(filterExpression(filter), expression))
