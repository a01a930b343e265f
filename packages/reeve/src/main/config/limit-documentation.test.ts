import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { LIMITS } from '../../model/index.ts'
import { LIMIT_DESCRIPTIONS, LIMITS_DOCUMENT, replaceTables } from './limit-documentation.ts'

test('limits: docs/reference/limits.md lists every limit with its present value', () => {
  const page = readFileSync(LIMITS_DOCUMENT, 'utf8')
  const how = 'run node packages/reeve/src/main/config/limit-documentation.ts'
  assert.equal(page, replaceTables(page), how)
})

test('limits: every constant of model/limits.ts has one description, and nothing else has', () => {
  const described = Object.values(LIMIT_DESCRIPTIONS).flatMap((section) => Object.keys(section))
  assert.deepEqual(described.toSorted(), Object.keys(LIMITS).toSorted())
})

test('limits: values have the unit that ends their name', () => {
  const page = replaceTables(readFileSync(LIMITS_DOCUMENT, 'utf8'))
  for (const row of [
    '| `jobFileMegabytesMax` | 256 MiB |',
    '| `stateReadMegabytesMax` | 1536 MiB |',
    '| `bodyBytesMax` | 4 MiB |',
    '| `taskNameBytesMax` | 200 bytes |',
    '| `waitMsMax` | 10 min |',
    '| `tokenNameCharsMax` | 256 |',
  ])
    assert.ok(page.includes(row), row)
})
