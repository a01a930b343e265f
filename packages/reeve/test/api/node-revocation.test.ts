import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { NODE_STREAM_PATH } from '@reeve/contract'
import { WebSocket } from 'ws'
import { LIMITS } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { atEnd } from '../build/at-end.ts'
import { aJob, anAllocation, anId } from '../build/index.ts'
import { aNodePeer, type HelloFields, type NodePeer } from '../build/node-peer.ts'
import { until } from '../build/until.ts'
import { createTestServer, type TestServer } from './harness.ts'

const A = anId('node', 1)
const B = anId('node', 2)
const SECRET_A = anId('any', 1)
const SECRET_B = anId('any', 2)
const OF_A = { params: { node_id: A } }

interface World {
  readonly server: TestServer
  readonly address: string
  /** Node A, connected. */
  readonly node: NodePeer
  readonly connect: (hello?: HelloFields) => Promise<NodePeer>
  /** Why a node that says so is refused; empty when it is welcome. */
  readonly refusal: (hello?: HelloFields) => Promise<string>
}

async function aWorld(t: TestContext, disk = new MemoryDisk()): Promise<World> {
  const server = await createTestServer({ aclEnabled: false, disk })
  atEnd(t, () => server.close())
  const address = await server.listen()
  const connect = (hello?: HelloFields): Promise<NodePeer> =>
    aNodePeer(t, address, { joinToken: 'join', ...hello })
  const node = await connect()
  await node.first()
  return {
    server,
    address,
    node,
    connect,
    async refusal(hello) {
      const peer = await connect(hello)
      const first = await peer.first()
      if (first.kind === 'welcome') peer.socket.terminate()
      return first.kind === 'refuse' ? first.message : ''
    },
  }
}

/** A job with a running allocation on node A. */
async function runOnA(server: TestServer): Promise<string> {
  const job = aJob({ ID: 'web' })
  const row = { ...anAllocation({ job, ClientStatus: 'running' }), NodeID: A }
  const changes = () => [put('jobs', job), put('job_versions', job), put('allocations', row)]
  await server.context.store.commit({ by: 'system', cause: undefined, changes }).durable
  return row.ID
}

test('revoke: the channel is closed, the node is down, its jobs are evaluated', async (t) => {
  const { server, node } = await aWorld(t)
  await runOnA(server)
  const written = await server.ok('revokeNode', { ...OF_A, body: { Reason: 'stolen' } })
  assert.equal(written.EvalIDs?.length, 1)
  const { code, text } = await node.closed()
  assert.deepEqual([code, text], [1008, `node ${A} was revoked by an operator`])
  const row = await server.ok('readNode', OF_A)
  assert.deepEqual([row.Status, row.StatusDescription], ['down', 'revoked: stolen'])
  assert.deepEqual(
    [row.Events.at(-1)?.Message, row.Events.at(-1)?.Details],
    ['Node revoked', { reason: 'stolen' }],
  )
  const listed = await server.ok('listNodes')
  assert.deepEqual(
    listed.map((one) => one.StatusDescription),
    ['revoked: stolen'],
  )
})

test('revoke: a node that does not close its end hears and changes nothing any more', async (t) => {
  const { server, node } = await aWorld(t)
  const allocation = await runOnA(server)
  const { allocations } = server.context.store.tables
  // What arrives is not read, so the close of the server is not answered.
  node.socket.pause()
  await server.ok('revokeNode', { ...OF_A, body: {} })
  const update = { ID: allocation, ClientStatus: 'failed', ClientDescription: 'x' }
  node.say({ kind: 'status', seq: 1, updates: [{ ...update, TaskStates: null }] })
  const stopped = { ...allocations.get(allocation), DesiredDescription: 'for no node to see' }
  const changes = ({ index }: { index: number }) => [
    put('allocations', { ...stopped, AllocModifyIndex: index }),
  ]
  await server.context.store.commit({ by: 'system', cause: undefined, changes }).durable
  node.socket.resume()
  await node.closed()
  assert.ok(!JSON.stringify(node.heard).includes('for no node to see'))
  assert.equal(allocations.get(allocation).ClientStatus, 'running')
})

test('revoke: neither the shared token nor a new one admits the node under its id', async (t) => {
  const world = await aWorld(t)
  await world.server.ok('revokeNode', { ...OF_A, body: {} })
  const says = new RegExp(`^node ${A} was revoked at .*"reeve node unrevoke ${A}"$`)
  assert.match(await world.refusal(), says)
  assert.match(await world.refusal({ secret: SECRET_B }), says)
  const { SecretID } = await world.server.ok('createNodeJoinToken', { body: {} })
  assert.match(await world.refusal({ joinToken: SecretID }), says)
  assert.match(await world.refusal({ node: { ID: B } }), says, 'nor its secret another id')
  assert.equal(await world.refusal({ node: { ID: B }, secret: SECRET_B }), '')
})

test('revoke: it outlives a purge and a restart', async (t) => {
  const disk = new MemoryDisk()
  const first = await createTestServer({ aclEnabled: false, disk })
  const peer = await aNodePeer(t, await first.listen(), { joinToken: 'join' })
  await peer.first()
  await first.ok('revokeNode', { ...OF_A, body: { Reason: 'stolen' } })
  await first.ok('purgeNode', OF_A)
  assert.equal(first.context.store.tables.nodes.size, 0)
  await first.close()
  const again = await createTestServer({ aclEnabled: false, disk })
  atEnd(t, () => again.close())
  const [row] = await again.ok('listNodeRevocations')
  assert.deepEqual([row?.NodeID, row?.Reason], [A, 'stolen'])
  const back = await aNodePeer(t, await again.listen(), { joinToken: 'join' })
  assert.equal((await back.first()).kind, 'refuse')
})

test('revoke: twice is once, and a node that is not there cannot be revoked', async (t) => {
  const { server } = await aWorld(t)
  await server.ok('revokeNode', { ...OF_A, body: { Reason: 'first' } })
  const again = await server.ok('revokeNode', { ...OF_A, body: { Reason: 'second' } })
  assert.equal(again.EvalIDs, null)
  assert.deepEqual(
    (await server.ok('listNodeRevocations')).map((one) => one.Reason),
    ['first'],
  )
  const unknown = { params: { node_id: B }, body: {} }
  assert.deepEqual(await server.refusal('revokeNode', unknown), [404, 'node not found'])
})

for (const [Reason, isValid] of [
  ['x'.repeat(256), true],
  ['x'.repeat(257), false],
  ['a\u001B[31m', false],
] as const)
  test(`revoke: a reason of ${Reason.length} characters is ${isValid ? 'kept' : 'refused'}`, async (t) => {
    const { server } = await aWorld(t)
    const { status, text } = await server.call('revokeNode', { ...OF_A, body: { Reason } })
    assert.equal(status, isValid ? 200 : 400)
    if (!isValid) assert.equal(text, 'Reason must be at most 256 characters in one line')
    assert.equal((await server.ok('listNodeRevocations')).length, isValid ? 1 : 0)
  })

test('revoke: as many nodes are revoked as the limit, and none more', async (t) => {
  const { server } = await aWorld(t)
  const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
  const changes = () =>
    Array.from({ length: LIMITS.nodeRevocationsMax }, (_, index) =>
      put('node_revocations', {
        NodeID: idOf(index),
        NodeName: 'gone',
        Reason: '',
        RevokedBy: '',
        RevokeTime: '2026-01-01T00:00:00.000Z',
        SecretHash: '',
        CreateIndex: 0,
        ModifyIndex: 0,
      }),
    )
  await server.context.store.commit({ by: 'system', cause: undefined, changes }).durable
  const text = '100000 nodes are revoked: undo some of the revocations'
  assert.deepEqual(await server.refusal('revokeNode', { ...OF_A, body: {} }), [400, text])
  await server.ok('unrevokeNode', { params: { node_id: idOf(0) } })
  await server.ok('revokeNode', { ...OF_A, body: {} })
})

test('revoke: streams of the node end, also those that it was asked for', async (t) => {
  const { server, address, node } = await aWorld(t)
  const allocation = await runOnA(server)
  const call = { params: { alloc_id: allocation }, query: { path: 'x' } }
  // Ends with a fault: half of a file must not look like the whole.
  const open = server.call('readFile', call).catch(() => undefined)
  const { stream, secret } = await node.next('open')
  const url = `${address.replace('http', 'ws')}${NODE_STREAM_PATH}/${stream}`
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${secret}` } })
  atEnd(t, () => socket.terminate())
  socket.on('error', () => undefined)
  await once(socket, 'open')
  socket.send('{"opened":true}')
  socket.send(Buffer.from('begin'))
  const asked = server.refusal('readFile', call)
  await node.next('open')
  const ended = once(socket, 'close')
  await server.ok('revokeNode', { ...OF_A, body: {} })
  await ended
  assert.deepEqual(await asked, [404, 'No path to node'])
  await open
})

test('unrevoke: the node connects again with its own secret, and with no token', async (t) => {
  const world = await aWorld(t)
  await world.server.ok('revokeNode', { ...OF_A, body: { Reason: 'a mistake' } })
  await world.server.call('unrevokeNode', OF_A)
  assert.deepEqual(await world.server.ok('listNodeRevocations'), [])
  const peer = await world.connect({ joinToken: 'none' })
  assert.equal((await peer.first()).kind, 'welcome')
  const row = await world.server.ok('readNode', OF_A)
  assert.deepEqual([row.Status, row.StatusDescription], ['ready', ''])
  assert.deepEqual(await world.server.refusal('unrevokeNode', OF_A), [404, 'node is not revoked'])
})

test('revoke: readers of the event stream are told', async (t) => {
  const { server } = await aWorld(t)
  const types: string[] = []
  const end = server.context.store.log.subscribe((commits) => {
    for (const { events } of commits) for (const event of events) types.push(event.Type)
  })
  await server.ok('revokeNode', { ...OF_A, body: {} })
  end()
  assert.ok(types.includes('NodeRevocation'))
})

// The secret of a node

/** Answers the offer of a new secret, as an agent does that has stored it. */
async function confirm(peer: NodePeer): Promise<string> {
  const { id, request } = await peer.next('request')
  assert.equal(request.verb, 'rotate-secret')
  peer.say({ kind: 'reply', id, ok: {} })
  return request.secret
}

test('rotate secret: the old one is invalid when the node has confirmed the new one', async (t) => {
  const world = await aWorld(t)
  const rotating = world.server.ok('rotateNodeSecret', OF_A)
  const secret = await confirm(world.node)
  assert.equal((await rotating).Status, 'rotated')
  assert.notEqual(secret, SECRET_A)
  world.node.socket.terminate()
  assert.match(await world.refusal(), /the secret of node .* is another one/)
  assert.equal(await world.refusal({ secret }), '')
})

test('rotate secret: without a confirmation both are valid, until the new one is used', async (t) => {
  const world = await aWorld(t)
  const rotating = world.server.ok('rotateNodeSecret', OF_A)
  const { request } = await world.node.next('request')
  assert.ok(request.verb === 'rotate-secret')
  world.node.socket.terminate()
  assert.equal((await rotating).Status, 'pending')
  assert.equal(await world.refusal({ secret: request.secret }), '')
  assert.match(await world.refusal(), /the secret of node .* is another one/)
})

test('rotate secret: a node that was away is offered one when it connects', async (t) => {
  const world = await aWorld(t)
  world.node.socket.terminate()
  // Until its end is noticed the request waits for an answer; then for the next connection.
  const rotating = world.server.ok('rotateNodeSecret', OF_A)
  assert.equal((await rotating).Status, 'pending')
  const back = await world.connect()
  const secret = await confirm(back)
  const { nodes } = world.server.context.store.tables
  await until('the rotation', () => nodes.get(A).NextSecretHashes === undefined || undefined)
  back.socket.terminate()
  assert.match(await world.refusal(), /the secret of node .* is another one/)
  assert.equal(await world.refusal({ secret }), '')
})

test('rotate secret: of two rotations at once each secret that the node may have is valid', async (t) => {
  const world = await aWorld(t)
  const both = [
    world.server.ok('rotateNodeSecret', OF_A),
    world.server.ok('rotateNodeSecret', OF_A),
  ]
  const first = await confirm(world.node)
  const { request } = await world.node.next('request')
  assert.ok(request.verb === 'rotate-secret')
  await both[0]
  world.node.socket.terminate()
  assert.equal((await both[1])?.Status, 'pending')
  // The node confirmed the first one and died before it stored the second.
  assert.equal(await world.refusal({ secret: first }), '')
})

test('rotate secret: a refusal of the node is told, and its old secret stays valid', async (t) => {
  const world = await aWorld(t)
  const rotating = world.server.refusal('rotateNodeSecret', OF_A)
  const { id } = await world.node.next('request')
  const error = { status: 501, message: 'this node does not support the request' }
  world.node.say({ kind: 'reply', id, error })
  assert.deepEqual(await rotating, [500, error.message])
  world.node.socket.terminate()
  assert.equal(await world.refusal(), '')
})

test('rotate secret: not of a node that is revoked or unknown', async (t) => {
  const { server } = await aWorld(t)
  await server.ok('revokeNode', { ...OF_A, body: {} })
  const [status, text] = await server.refusal('rotateNodeSecret', OF_A)
  assert.deepEqual([status, /was revoked at/.test(text)], [409, true])
  const unknown = { params: { node_id: B } }
  assert.deepEqual(await server.refusal('rotateNodeSecret', unknown), [404, 'node not found'])
})

test('rotate secret: neither the API nor the events show the hashes', async (t) => {
  const { server } = await aWorld(t)
  const rotating = server.ok('rotateNodeSecret', OF_A)
  const { nodes } = server.context.store.tables
  await until('the offer', () => nodes.get(A).NextSecretHashes)
  const { text } = await server.call('readNode', OF_A)
  assert.ok(!/Hash/.test(text))
  server.clock.advance(15_000)
  await rotating
})
