import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { REFUSAL_CODES } from '../../model/index.ts'
import { CODE_OF_STATUS } from '../response.ts'
import { GOVERNANCE_ERROR_CODES } from '../v2/errors.ts'
import { HTTP_STATUS } from './errors.ts'

/** The rows of a section of docs/reference/errors.md: code and status. */
async function listedIn(heading: string): Promise<readonly (readonly [string, string])[]> {
  const text = await readFile(
    new URL('../../../../../docs/reference/errors.md', import.meta.url),
    'utf8',
  )
  const section = text.split(/^## /m).find((one) => one.startsWith(heading)) ?? ''
  return Array.from(
    section.matchAll(/^\| `([\w-]+)` \| (\d[^|]*) \|/gm),
    ([, code = '', status = '']) => [code, status] as const,
  )
}

test('errors: docs/reference/errors.md lists every refusal of /v1 with its status, and no other', async () => {
  assert.deepEqual(
    await listedIn('Refusals of the workload API'),
    REFUSAL_CODES.map((code) => [code, String(HTTP_STATUS[code])]),
  )
})

test('errors: docs/reference/errors.md lists every error code of /api/v2, and no other', async () => {
  const listed = await listedIn('Refusals of the governance API')
  assert.deepEqual(
    listed.map(([code]) => code),
    GOVERNANCE_ERROR_CODES,
  )
})

test('errors: docs/reference/errors.md lists every code of the HTTP server, and no other', async () => {
  assert.deepEqual(
    await listedIn('Errors of the HTTP server'),
    Object.entries(CODE_OF_STATUS).map(([status, code]) => [code, status]),
  )
})
