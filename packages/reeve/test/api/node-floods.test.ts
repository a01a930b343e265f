import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { AllocationUpdate } from '@reeve/contract'
import { LIMITS } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { atEnd } from '../build/at-end.ts'
import { aJob, anAllocation, anId } from '../build/index.ts'
import { aHello, aNodePeer, type HelloFields, type NodePeer } from '../build/node-peer.ts'
import { until } from '../build/until.ts'
import { createTestServer, type TestServer } from './harness.ts'

const A = anId('node', 1)

interface World {
  readonly server: TestServer
  readonly node: NodePeer
  readonly connect: (hello?: HelloFields) => Promise<NodePeer>
}

async function aWorld(t: TestContext): Promise<World> {
  const server = await createTestServer({ aclEnabled: false })
  atEnd(t, () => server.close())
  const address = await server.listen()
  const connect = (hello?: HelloFields): Promise<NodePeer> =>
    aNodePeer(t, address, { joinToken: 'join', ...hello })
  const node = await connect()
  assert.equal((await node.first()).kind, 'welcome')
  return { server, node, connect }
}

test('flood: of many heartbeats at once a few are answered, and other messages still are', async (t) => {
  const { node } = await aWorld(t)
  for (let i = 0; i < 1_000; i++) node.say('{"kind":"heartbeat"}')
  node.say({ kind: 'status', seq: 1, updates: [] })
  await node.next('ack')
  const answered = node.heard.filter(({ kind }) => kind === 'heartbeat')
  assert.equal(answered.length, LIMITS.nodeHeartbeatsBurst)
})

test('flood: reports that are sent without waiting are merged, the latest of each allocation', async (t) => {
  const { server, node } = await aWorld(t)
  const { store } = server.context
  const job = aJob({ ID: 'web' })
  const row = { ...anAllocation({ job, ClientStatus: 'pending' }), NodeID: A }
  const changes = () => [put('jobs', job), put('job_versions', job), put('allocations', row)]
  await store.commit({ by: 'system', cause: undefined, changes }).durable
  const before = store.index
  const count = 50
  for (let seq = 1; seq <= count; seq++) {
    const update: AllocationUpdate = {
      ID: row.ID,
      ClientStatus: 'running',
      ClientDescription: `report ${seq}`,
      TaskStates: null,
    }
    node.say({ kind: 'status', seq, updates: [update] })
  }
  const acks = (): readonly number[] =>
    node.heard.flatMap((message) => (message.kind === 'ack' ? [message.seq] : []))
  await until('every report to be acknowledged', () => acks().length === count || undefined)
  assert.deepEqual(
    acks(),
    Array.from({ length: count }, (_, i) => i + 1),
  )
  assert.equal(store.tables.allocations.get(row.ID).ClientDescription, `report ${count}`)
  const commits = store.index - before
  assert.ok(commits < count / 2, `${commits} commits for ${count} reports`)
})

test('flood: a node that does not stop is cut off, refused for a while, and then admitted', async (t) => {
  const { server, node, connect } = await aWorld(t)
  const isOpen = (): boolean => node.socket.readyState === node.socket.OPEN
  // More is in the connection than the server reads in the time; each second it reads some.
  for (let i = 0; i < 60_000 && isOpen(); i++) node.say('{"kind":"unwatch","id":1}')
  await until('the node to be cut off', () => {
    server.clock.advance(1_000)
    return isOpen() ? undefined : true
  })
  const { code, text } = await node.closed()
  assert.equal(code, 1008)
  assert.match(text, /^this node sent more than 500 messages or 8388608 bytes a second for 30 s$/)
  const again = await connect()
  const first = await again.first()
  assert.ok(first.kind === 'refuse')
  assert.match(first.message, /^this node sent more than .*; it is refused for \d+ ms$/)
  server.clock.advance(LIMITS.nodePenaltyMs)
  assert.equal((await (await connect()).first()).kind, 'welcome')
})

test('flood: a node that reconnects with invalid messages writes one log line a minute', async (t) => {
  const { server, node, connect } = await aWorld(t)
  const fail = async (peer: NodePeer): Promise<void> => {
    peer.say('{')
    assert.equal((await peer.closed()).code, 1011)
  }
  await fail(node)
  for (let i = 0; i < 4; i++) await fail(await connect())
  assert.equal(server.warnings.length, 1)
  assert.partialDeepStrictEqual(server.warnings[0], { nodeId: A, suppressed: 0 })
  server.clock.advance(60_000)
  await fail(await connect())
  assert.equal(server.warnings.length, 2)
  assert.partialDeepStrictEqual(server.warnings[1], { nodeId: A, suppressed: 4 })
  assert.deepEqual(server.faults, [])
})

test('flood: others are served while a node floods', async (t) => {
  const { node, connect } = await aWorld(t)
  for (let i = 0; i < 20_000; i++) node.say('{"kind":"unwatch","id":1}')
  const other = await connect({ node: { ID: anId('node', 2) }, secret: anId('any', 2) })
  assert.equal((await other.first()).kind, 'welcome')
  await other.settle()
})

// What a node says of itself

const lies = [
  { name: 'a name with an escape sequence', node: { Name: 'a\u001B[31m' }, says: /Name/ },
  { name: 'a name of 900 kB', node: { Name: 'x'.repeat(900_000) }, says: /Name/ },
  { name: 'the pool of all nodes', node: { NodePool: 'all' }, says: /NodePool/ },
  { name: 'the pool *', node: { NodePool: '*' }, says: /NodePool/ },
  { name: 'a pool with a path', node: { NodePool: '../../x y' }, says: /NodePool/ },
]
for (const { name, node, says } of lies)
  test(`registration: a node with ${name} is refused with a text, and nothing is made`, async (t) => {
    const { server, connect, ...world } = await aWorld(t)
    const { tables } = server.context.store
    const pools = tables.node_pools.size
    const peer = await connect({ node: { ID: anId('node', 2), ...node }, secret: anId('any', 2) })
    const { code, text } = await peer.closed()
    assert.equal(code, 1008)
    assert.match(text, /^this node may not register: /)
    assert.match(text, says)
    // Nor when it is known and describes itself anew.
    world.node.say({ kind: 'node', node: aHello({ node }).node })
    assert.match((await world.node.closed()).text, says)
    assert.deepEqual([tables.nodes.size, tables.node_pools.size], [1, pools])
    assert.equal(tables.nodes.get(A).Name, 'node-1')
  })

for (const CpuShares of [1e308, -5])
  test(`registration: a node with ${CpuShares} MHz is refused`, async (t) => {
    const { connect } = await aWorld(t)
    const { node } = aHello({ node: { ID: anId('node', 2) } })
    const Cpu = { ...node.NodeResources.Cpu, CpuShares }
    const liar = { ...node, NodeResources: { ...node.NodeResources, Cpu } }
    const peer = await connect({ node: liar, secret: anId('any', 2) })
    assert.match((await peer.closed()).text, /CpuShares must be a whole number from 0 to \d+$/)
  })

test('registration: fields that are not of the contract are not stored', async (t) => {
  const { server, connect } = await aWorld(t)
  const node = { ID: anId('node', 2), Injected: 'x', Status: 'ready', SecretHash: 'mine' }
  const peer = await connect({ node, secret: anId('any', 2) })
  await peer.first()
  const row = server.context.store.tables.nodes.get(anId('node', 2))
  assert.ok(!('Injected' in row))
  assert.notEqual(row.SecretHash, 'mine')
})

test('registration: a text about health is cut and cleaned, not refused', async (t) => {
  const { server, connect } = await aWorld(t)
  const raw = aHello().node.Drivers['raw_exec']
  assert.ok(raw !== undefined)
  const HealthDescription = `no\u001B[31m\n${'x'.repeat(2_000)}`
  const Drivers = { raw_exec: { ...raw, HealthDescription } }
  const peer = await connect({ node: { ID: anId('node', 2), Drivers }, secret: anId('any', 2) })
  assert.equal((await peer.first()).kind, 'welcome')
  const stored = server.context.store.tables.nodes.get(anId('node', 2)).Drivers['raw_exec']
  assert.match(stored?.HealthDescription ?? '', /^no \[31m x+…$/)
  assert.equal(stored?.HealthDescription.length, LIMITS.nodeHealthTextCharsMax + 1)
})

test('registration: nodes create pools up to a number, and join existing ones past it', async (t) => {
  const { server, connect } = await aWorld(t)
  const { store } = server.context
  const pool = store.tables.node_pools.get('default')
  const missing = LIMITS.nodePoolsMax - 1 - store.tables.node_pools.size
  const rows = Array.from({ length: missing }, (_, i) =>
    put('node_pools', { ...pool, Name: `pool-${i}` }),
  )
  await store.commit({ by: 'system', cause: undefined, changes: () => rows }).durable
  const join = async (n: number, NodePool: string): Promise<string> => {
    const peer = await connect({ node: { ID: anId('node', n), NodePool }, secret: anId('any', n) })
    const first = await peer.first()
    return first.kind === 'refuse' ? first.message : ''
  }
  assert.equal(await join(2, 'one-more'), '')
  assert.match(await join(3, 'too-many'), /^node pool "too-many" does not exist, and nodes create/)
  assert.equal(await join(4, 'pool-0'), '')
})
