import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { aServer } from '../../test/local-server.ts'
import { createClient } from '../client.ts'
import { ConnectionError } from '../errors.ts'
import type { ByteFrame } from './json-stream.ts'

const params = { alloc_id: 'a' }
const query = { task: 'web', type: 'stdout', follow: true }

async function framesIn(address: string): Promise<ByteFrame[]> {
  const frames: ByteFrame[] = []
  const client = createClient({ address })
  for await (const frame of client.frames('streamLogs', { params, query })) frames.push(frame)
  return frames
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

test('frames follow each other without a separator; heartbeats are left out', async (t) => {
  const body = [
    {},
    { Offset: 5, Data: base64('hé{'), File: 'stdout.0' },
    {},
    { File: 'stdout.0', FileEvent: 'file truncated' },
    { Offset: 2, Data: base64('}"'), File: 'stdout.1' },
  ]
  const server = await aServer(t, (_request, response) => {
    response.end(body.map((frame) => JSON.stringify(frame)).join(''))
  })
  const frames = await framesIn(server.address)
  assert.deepEqual(
    frames.map(({ bytes, File, FileEvent }) => [Buffer.from(bytes).toString(), File, FileEvent]),
    [
      ['hé{', 'stdout.0', undefined],
      ['', 'stdout.0', 'file truncated'],
      ['}"', 'stdout.1', undefined],
    ],
  )
  assert.equal(server.received[0]?.target, '/v1/client/fs/logs/a?task=web&type=stdout&follow=true')
})

const hostile: readonly (readonly [string, string, string])[] = [
  ['data that is no base64', '{"Data":"?"}', 'unreadable'],
  ['data that is no text', '{"Data":5}', 'unreadable'],
  ['something that is no frame', 'plain text', 'unreadable'],
  ['an object that is no JSON', '{nonsense}', 'unreadable'],
  ['half a frame', '{"Data":"', 'cut'],
]
for (const [name, body, reason] of hostile) {
  test(`a body with ${name} is ${reason}`, async (t) => {
    const server = await aServer(t, (_request, response) => response.end(body))
    await assert.rejects(
      framesIn(server.address),
      (error) => error instanceof ConnectionError && error.reason === reason,
    )
  })
}
