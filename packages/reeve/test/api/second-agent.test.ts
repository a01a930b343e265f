import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { CHANNEL_VERSION, NODE_CHANNEL_PATH, type ServerMessage } from '@reeve/contract'
import { WebSocket } from 'ws'
import { aNode } from '../build/index.ts'
import { createTestServer } from './harness.ts'

const SECRET = '00000000-0000-4000-8000-0000000000bb'
const OTHER_SECRET = '00000000-0000-4000-8000-0000000000cc'

interface Agent {
  readonly socket: WebSocket
  readonly first: ServerMessage
}

/** Agents that all come with one identity, as if its data directory had been copied. */
async function aCopiedNode(t: TestContext): Promise<(secret?: string) => Promise<Agent>> {
  const server = await createTestServer({ aclEnabled: false })
  const address = (await server.listen()).replace('http', 'ws')
  const sockets: WebSocket[] = []
  t.after(async () => {
    for (const socket of sockets) socket.terminate()
    await server.close()
  })
  const node = aNode()
  return async (secret = SECRET) => {
    const socket = new WebSocket(`${address}${NODE_CHANNEL_PATH}`)
    sockets.push(socket)
    await once(socket, 'open')
    const hello = { kind: 'hello', version: CHANNEL_VERSION, node, secret, joinToken: 'join' }
    socket.send(JSON.stringify(hello))
    const [data]: unknown[] = await once(socket, 'message')
    const first: ServerMessage = JSON.parse(String(data))
    return { socket, first }
  }
}

test('a second agent with the identity of a connected node is refused', async (t) => {
  const connect = await aCopiedNode(t)
  const original = await connect()
  assert.equal(original.first.kind, 'welcome')
  const copy = await connect()
  assert.ok(copy.first.kind === 'refuse')
  assert.match(copy.first.message, /^another agent is connected as node /)
  assert.equal(original.socket.readyState, WebSocket.OPEN)
})

test('a node whose agent has gone comes back at once', async (t) => {
  const connect = await aCopiedNode(t)
  const { socket } = await connect()
  socket.terminate()
  assert.equal((await connect()).first.kind, 'welcome')
})

test('whoever does not know the secret of a node is not told that it is connected', async (t) => {
  const connect = await aCopiedNode(t)
  await connect()
  const stranger = await connect(OTHER_SECRET)
  assert.ok(stranger.first.kind === 'refuse')
  assert.match(stranger.first.message, /^the secret of node .* is another one$/)
})
