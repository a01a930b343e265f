import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { NODE_CHANNEL_PATH } from '@reeve/contract'
import { WebSocket } from 'ws'
import { LIMITS } from '../../src/model/index.ts'
import { until } from '../build/until.ts'
import { createTestServer, type TestServer } from './harness.ts'

const EXEC_PATH =
  '/v1/client/allocation/00000000-0000-4000-8000-000000000001/exec?task=t&command=%5B%22sh%22%5D&ws_handshake=true'

/** A peer that has not said who it is. */
async function aStranger(t: TestContext, path: string): Promise<[TestServer, WebSocket]> {
  const server = await createTestServer()
  const address = (await server.listen()).replace('http', 'ws')
  const socket = new WebSocket(address + path)
  socket.on('error', () => undefined)
  t.after(async () => {
    socket.terminate()
    await server.close()
  })
  await once(socket, 'open')
  return [server, socket]
}

const closed = (socket: WebSocket): true | undefined =>
  socket.readyState === socket.CLOSED ? true : undefined

for (const path of [NODE_CHANNEL_PATH, EXEC_PATH]) {
  const channel = path.split('?')[0]?.split('/').at(-1)

  test(`ping flood: as many pings as the limit are answered (${channel})`, async (t) => {
    const [, socket] = await aStranger(t, path)
    const pongs: string[] = []
    socket.on('pong', (data) => pongs.push(data.toString()))
    for (let at = 0; at < LIMITS.webSocketPingsMax; at++) {
      socket.ping(String(at))
      await until(`pong ${at}`, () => pongs[at])
    }
    assert.equal(socket.readyState, socket.OPEN)
  })

  test(`ping flood: one ping more ends the connection (${channel})`, async (t) => {
    const [, socket] = await aStranger(t, path)
    for (let at = 0; at <= LIMITS.webSocketPingsMax; at++) socket.ping('x'.repeat(125))
    await until('the end of the connection', () => closed(socket))
  })

  test(`ping flood: pongs that nobody asked for end it too (${channel})`, async (t) => {
    const [, socket] = await aStranger(t, path)
    for (let at = 0; at <= LIMITS.webSocketPingsMax; at++) socket.pong()
    await until('the end of the connection', () => closed(socket))
  })
}

test('ping flood: pings are allowed again as time passes', async (t) => {
  const [server, socket] = await aStranger(t, NODE_CHANNEL_PATH)
  let pongs = 0
  socket.on('pong', () => pongs++)
  const ping = async (count: number): Promise<void> => {
    const wanted = pongs + count
    for (let at = 1; at <= count; at++) {
      socket.ping()
      await until('a pong', () => (pongs >= wanted - count + at ? true : undefined))
    }
  }
  await ping(LIMITS.webSocketPingsMax)
  // Less than the time in which a peer has to say hello.
  server.clock.advance(4_000)
  await ping(4 * LIMITS.webSocketPingsPerSecond)
  assert.equal(socket.readyState, socket.OPEN)
})
