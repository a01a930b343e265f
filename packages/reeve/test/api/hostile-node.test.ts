import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  CHANNEL_VERSION,
  NODE_CHANNEL_PATH,
  NODE_STREAM_PATH,
  type OpenMessage,
  type RequestMessage,
} from '@reeve/contract'
import { WebSocket } from 'ws'
import { put } from '../../src/state/index.ts'
import { aJob, anAllocation, aNode } from '../build/index.ts'
import { until } from '../build/until.ts'
import { createTestServer, type TestServer } from './harness.ts'

interface HostileNode {
  readonly server: TestServer
  readonly allocation: string
  readonly address: string
  /** What it answers to a request. */
  answer: (request: RequestMessage) => object
  /** What it does when it is asked for a stream: gets the socket that it dialled. */
  stream: (socket: WebSocket) => void
}

/** A node that has joined as any may, and then says what the test likes. */
async function aHostileNode(t: TestContext): Promise<HostileNode> {
  const server = await createTestServer({ aclEnabled: false })
  const address = (await server.listen()).replace('http', 'ws')
  const node = aNode()
  const secret = '00000000-0000-4000-8000-0000000000bb'
  const job = aJob()
  const row = anAllocation({ job, NodeID: node.ID, ClientStatus: 'running' })
  const channel = new WebSocket(`${address}${NODE_CHANNEL_PATH}`)
  const sockets = [channel]
  const world: HostileNode = {
    server,
    allocation: row.ID,
    address,
    answer: () => ({}),
    stream: () => undefined,
  }
  channel.on('open', () => {
    const hello = { kind: 'hello', version: CHANNEL_VERSION, node, secret, joinToken: 'join' }
    channel.send(JSON.stringify(hello))
  })
  channel.on('message', (data: Buffer) => {
    const message: RequestMessage | OpenMessage = JSON.parse(data.toString())
    if (message.kind === 'request')
      channel.send(JSON.stringify({ kind: 'reply', id: message.id, ...world.answer(message) }))
    if (message.kind !== 'open') return
    const headers = { authorization: `Bearer ${message.secret}` }
    const socket = new WebSocket(`${address}${NODE_STREAM_PATH}/${message.stream}`, { headers })
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.on('open', () => world.stream(socket))
  })
  t.after(async () => {
    for (const socket of sockets) socket.terminate()
    await server.close()
  })
  const { store } = server.context
  await until('the node to join', () => store.tables.nodes.find(node.ID))
  const changes = () => [put('job_versions', job), put('allocations', row)]
  await store.commit({ by: 'system', cause: undefined, changes }).durable
  return world
}

const UNREADABLE = [500, 'the node gave an answer that cannot be read'] as const

test('hostile node: an answer that is not of the contract is not passed on', async (t) => {
  const world = await aHostileNode(t)
  const { server } = world
  const params = { alloc_id: world.allocation }
  const file = { Name: 'x', IsDir: false, Size: 1, FileMode: '-', ModTime: '2026-01-01T00:00:00Z' }
  const bad = [{}, { ok: 'text' }, { ok: [1] }, { ok: { length: 1 } }, { ok: null }]
  for (const answer of bad) {
    world.answer = () => answer
    assert.deepEqual(await server.refusal('listFiles', { params }), UNREADABLE)
    assert.deepEqual(await server.refusal('readAllocationStats', { params }), UNREADABLE)
  }
  world.answer = () => ({ ok: [{ ...file, Injected: '<script>' }] })
  assert.deepEqual(await server.ok('listFiles', { params }), [file])
})

test('hostile node: a refusal whose status is none counts as no answer', async (t) => {
  const world = await aHostileNode(t)
  const { server } = world
  const params = { alloc_id: world.allocation }
  world.answer = () => ({ error: { status: 200, message: 'fine' } })
  let isOver = false
  const silent = server.refusal('listFiles', { params }).finally(() => {
    isOver = true
  })
  await until('the deadline to pass', () => {
    server.clock.advance(1_000)
    return isOver || undefined
  })
  assert.deepEqual(await silent, [504, 'the node did not answer in time'])
})

test('hostile node: a stream that begins with anything but its opening is refused', async (t) => {
  const world = await aHostileNode(t)
  const { server } = world
  const call = { params: { alloc_id: world.allocation }, query: { path: 'x' } }
  const broken = [500, 'the node broke the protocol'] as const
  for (const first of ['{', '{}', '[]', Buffer.from('{"opened":true}')]) {
    world.stream = (socket) => socket.send(first)
    assert.deepEqual(await server.refusal('readFile', call), broken)
  }
  world.stream = (socket) => socket.close()
  assert.deepEqual(await server.refusal('readFile', call), [404, 'No path to node'])
  world.stream = (socket) => socket.send('x'.repeat(300 * 1024))
  assert.deepEqual(await server.refusal('readFile', call), [404, 'No path to node'])
  world.stream = (socket) => {
    socket.send('{"opened":true}')
    socket.send(Buffer.from('bytes'))
    socket.close(1000)
  }
  const { text } = await server.call('readFile', call)
  assert.equal(text, 'bytes')
})

const STRANGERS = [
  { name: 'longer than a hello may be', first: `"${'x'.repeat(1024 * 1024)}"`, code: 1008 },
  { name: 'nested deeper than any message', first: '['.repeat(70_000), code: 1011 },
  { name: 'of more parts than any message', first: `[${'[],'.repeat(110_000)}0]`, code: 1011 },
  { name: 'no hello', first: '{"kind":"heartbeat"}', code: 1008 },
  { name: 'no JSON', first: '{', code: 1011 },
]
for (const { name, first, code } of STRANGERS) {
  test(`hostile node: a first message that is ${name} ends the channel`, async (t) => {
    const { address, server } = await aHostileNode(t)
    const socket = new WebSocket(`${address}${NODE_CHANNEL_PATH}`)
    socket.on('open', () => {
      for (let i = 0; i < 3; i++) socket.send(first)
    })
    const closed = await new Promise<number>((resolve) => {
      socket.on('close', (told) => resolve(told))
    })
    assert.equal(closed, code)
    assert.deepEqual(server.faults, [], 'a stranger writes no errors into the log')
  })
}
