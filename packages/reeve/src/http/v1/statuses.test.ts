import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { REFUSAL_CODES } from '../../model/index.ts'
import { STATUS_OF } from './statuses.ts'

test('refusals: docs/errors.md lists every code with its status, and no other', async () => {
  const text = await readFile(new URL('../../../../../docs/errors.md', import.meta.url), 'utf8')
  const listed = [...text.matchAll(/^\| `([\w-]+)` \| (\d+) \|/gm)].map(([, code, status]) => [
    code,
    Number(status),
  ])
  assert.deepEqual(
    listed,
    REFUSAL_CODES.map((code) => [code, STATUS_OF[code]]),
  )
})
