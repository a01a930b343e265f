import assert from 'node:assert/strict'
import { test } from 'node:test'
import cases from '../cases/syntax-errors.json' with { type: 'json' }
import { formatRange } from '../text/format.ts'
import { parseHcl } from './parse.ts'

for (const c of cases)
  test(`parse refuses: ${c.note}`, () => {
    const parsed = parseHcl(c.source, 'f')
    assert.ok(!parsed.ok, 'it should fail')
    const found = parsed.error.map((one) => `${formatRange(one.range).slice(2)} ${one.summary}`)
    assert.deepEqual(found, c.errors)
  })
