import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExactJson } from './json.ts'

const cases = [
  '{"a":12345678901234567890,"b":[1.10,1e400,-0],"c":"12345678901234567890"}',
  '{"a":1,"b":[true,null,"x",{}]}',
  '1e2',
]
for (const text of cases)
  test(`parseExactJson: the numbers of ${text} keep their text`, () => {
    assert.equal(JSON.stringify(parseExactJson(text)), text)
  })
