import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { NODE_CHANNEL_PATH, SERVER_STOPS } from '@reeve/contract'
import { WebSocket } from 'ws'
import { atEnd } from '../build/at-end.ts'
import { createTestServer } from './harness.ts'

test('server: nodes are told that it stops in order', async (t) => {
  const server = await createTestServer({ aclEnabled: false })
  const address = await server.listen()
  const socket = new WebSocket(`${address.replace('http', 'ws')}${NODE_CHANNEL_PATH}`)
  atEnd(t, () => socket.terminate())
  await once(socket, 'open')
  const closed = once(socket, 'close')
  await server.close()
  const [code, reason] = await closed
  assert.deepEqual([code, String(reason)], [1012, SERVER_STOPS])
})
