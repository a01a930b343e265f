import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from './client.ts'
import { followRunLog, formatLogLine } from './run-documents.ts'

test('run log: it is read to its end, without its marks', async () => {
  const log = Buffer.from('\u0002grün\nlast\n\u0003')
  const asked: number[] = []
  const client = createClient({
    address: 'http://reeve.example',
    fetch: (url) => {
      const offset = Number(new URL(url).searchParams.get('offset'))
      asked.push(offset)
      const headers = { 'content-type': 'text/plain' }
      return Promise.resolve(new Response(log.subarray(offset, offset + 4), { headers }))
    },
  })
  const pieces: Uint8Array[] = []
  const url = 'http://elsewhere.example/api/v2/run-logs/the-key'
  for await (const piece of followRunLog(client, { url })) pieces.push(piece)
  assert.equal(Buffer.concat(pieces).toString(), 'grün\nlast\n')
  assert.deepEqual(asked, [0, 4, 8, 12])
})

const LINES = [
  ['plain text', 'plain text'],
  ['{"@message":"creating","type":"apply_start"}', 'creating'],
  ['{"@message":"Error: no","diagnostic":{"detail":"because"}}', 'Error: no\nbecause'],
  ['{"other":1}', '{"other":1}'],
  ['{ not JSON', '{ not JSON'],
] as const
for (const [line, text] of LINES)
  test(`run log: the line ${line} is shown as ${JSON.stringify(text)}`, () => {
    assert.equal(formatLogLine(line), text)
  })
