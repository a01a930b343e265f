import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseObject } from './policy-text.ts'

test('an object is read', () => {
  assert.deepEqual(parseObject('{"job":{}}'), { ok: true, value: { job: {} } })
})

const refused = [
  { name: 'a list', text: '[]', reason: /an object/ },
  { name: 'null', text: 'null', reason: /an object/ },
  { name: 'what is not JSON', text: '{', reason: /not JSON/ },
  { name: 'nothing', text: '', reason: /not JSON/ },
]
for (const { name, text, reason } of refused)
  test(`${name} is refused with the reason`, () => {
    const read = parseObject(text)
    assert.match(read.ok ? '' : read.reason, reason)
  })
