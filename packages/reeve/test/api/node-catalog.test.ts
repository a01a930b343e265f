import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import {
  CHANNEL_VERSION,
  NODE_CHANNEL_PATH,
  ServerMessage,
  type NodeRegistration,
} from '@reeve/contract'
import { Value } from 'typebox/value'
import { WebSocket, type RawData } from 'ws'
import { put } from '../../src/state/index.ts'
import { aJob, anAllocation, aNode, anId } from '../build/index.ts'
import { createTestServer, type TestServer } from './harness.ts'

const NODE = anId('node', 1)

/** A node's end of the channel, greeted; what the server says is kept in order. */
async function connect(t: TestContext, address: string) {
  const socket = new WebSocket(`${address.replace('http', 'ws')}${NODE_CHANNEL_PATH}`)
  t.after(() => socket.terminate())
  const heard: ServerMessage[] = []
  let wake = Promise.withResolvers<void>()
  socket.on('message', (data: RawData) => {
    // Text frames arrive as one Buffer.
    const message: unknown = JSON.parse((data as Buffer).toString('utf8'))
    assert.ok(Value.Check(ServerMessage, message))
    heard.push(message)
    wake.resolve()
    wake = Promise.withResolvers<void>()
  })
  await once(socket, 'open')
  const say = (message: object): void => socket.send(JSON.stringify(message))
  const node: NodeRegistration = { ...aNode({ ID: NODE }), Attributes: {} }
  say({ kind: 'hello', version: CHANNEL_VERSION, node, secret: anId('any', 1), joinToken: 'join' })
  return {
    say,
    /** The next message of the kind, whether it came already or not. */
    async next(kind: string): Promise<ServerMessage> {
      for (;;) {
        const at = heard.findIndex((message) => message.kind === kind)
        const [found] = at === -1 ? [] : heard.splice(at, 1)
        if (found !== undefined) return found
        await wake.promise
      }
    },
    async leave(): Promise<void> {
      socket.close()
      await once(socket, 'close')
    },
  }
}

async function aWorld(t: TestContext, region = 'global') {
  const server = await createTestServer({ aclEnabled: false, region })
  t.after(() => server.close())
  const job = aJob({ ID: 'web' })
  const allocation = { ...anAllocation({ job }), ID: anId('alloc', 1), NodeID: NODE }
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', job), put('job_versions', job), put('allocations', allocation)],
  })
  return { server, allocation, address: await server.listen() }
}

async function portsOf(server: TestServer): Promise<readonly number[]> {
  const rows = await server.ok('readService', { params: { service_name: 'web' } })
  return rows.map(({ Port }) => Port)
}

function offered(allocation: string, Port: number) {
  const ID = `_reeve-task-${allocation}-web-web-${Port}`
  const services = [{ ID, ServiceName: 'web', Tags: [], Address: '127.0.0.1', Port }]
  return { allocation, services }
}

test('node channel: a node is told the region of the servers that let it in', async (t) => {
  const { address } = await aWorld(t, 'eu')
  const node = await connect(t, address)
  const welcome = await node.next('welcome')
  assert.equal(welcome.kind === 'welcome' && welcome.region, 'eu')
})

test('node channel: what a node offers is acknowledged when it is in the catalogue', async (t) => {
  const { server, allocation, address } = await aWorld(t)
  const node = await connect(t, address)
  await node.next('welcome')
  node.say({ kind: 'services', seq: 1, sets: [offered(allocation.ID, 1)], all: [allocation.ID] })
  assert.deepEqual(await node.next('services-ack'), { kind: 'services-ack', seq: 1 })
  assert.deepEqual(await portsOf(server), [1])
})

test('node channel: after a break the catalogue is what the node says', async (t) => {
  const { server, allocation, address } = await aWorld(t)
  const first = await connect(t, address)
  await first.next('welcome')
  first.say({ kind: 'services', seq: 1, sets: [offered(allocation.ID, 1)], all: [allocation.ID] })
  await first.next('services-ack')
  await first.leave()
  assert.deepEqual(await portsOf(server), [1], 'a node that is away is not forgotten')
  const second = await connect(t, address)
  await second.next('welcome')
  second.say({ kind: 'services', seq: 1, sets: [offered(allocation.ID, 2)] })
  await second.next('services-ack')
  assert.deepEqual(await portsOf(server), [2])
  second.say({ kind: 'services', seq: 2, sets: [], all: [] })
  await second.next('services-ack')
  assert.deepEqual(await portsOf(server), [])
})

test('node channel: a node follows its own variables, and only those', async (t) => {
  const { server, address } = await aWorld(t)
  const node = await connect(t, address)
  await node.next('welcome')
  const write = (path: string, value: string) =>
    server.ok('writeVariable', { params: { path }, body: { Items: { value } } })
  await write('service/jobs/web', 'own')
  await write('service/jobs/db', 'theirs')
  const what = { topic: 'variable', namespace: 'default' }
  node.say({ kind: 'watch', id: 1, what: { ...what, path: 'service/jobs/web' } })
  assert.deepEqual(await node.next('facts'), { kind: 'facts', id: 1, items: { value: 'own' } })
  node.say({ kind: 'watch', id: 2, what: { ...what, path: 'service/jobs/db' } })
  assert.deepEqual(await node.next('facts'), { kind: 'facts', id: 2, items: null })
  await write('service/jobs/db', 'theirs, changed')
  await write('service/jobs/web', 'changed')
  server.clock.advance(100)
  assert.deepEqual(await node.next('facts'), { kind: 'facts', id: 1, items: { value: 'changed' } })
})
