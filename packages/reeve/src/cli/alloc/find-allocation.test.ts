import assert from 'node:assert/strict'
import test from 'node:test'
import { parseSelector } from './find-allocation.ts'

const whole = (job: string, index?: number) => ({ job, group: undefined, index })

const cases = [
  { text: 'web', readings: [whole('web')] },
  { text: 'web[1]', readings: [whole('web', 1)] },
  { text: 'web/api', readings: [whole('web/api'), { job: 'web', group: 'api', index: undefined }] },
  {
    text: 'web/api[12]',
    readings: [whole('web/api', 12), { job: 'web', group: 'api', index: 12 }],
  },
  {
    text: 'shop/dispatch-1/api[0]',
    readings: [whole('shop/dispatch-1/api', 0), { job: 'shop/dispatch-1', group: 'api', index: 0 }],
  },
  { text: '/api', readings: [whole('/api')] },
  { text: 'web[x]', readings: [whole('web[x]')] },
]
for (const { text, readings } of cases)
  test(`parseInstance: ${text}`, () => assert.deepEqual(parseSelector(text), readings))
