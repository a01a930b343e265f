import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import {
  CHANNEL_VERSION,
  NODE_CHANNEL_PATH,
  NODE_STREAM_PATH,
  type NodeRegistration,
} from '@reeve/contract'
import { WebSocket, type ClientOptions } from 'ws'
import { httpTlsOptions } from '../../src/main/tls-wiring.ts'
import { put } from '../../src/state/index.ts'
import { atEnd } from '../build/at-end.ts'
import { aTls, certificate, type Holder } from '../build/certificates.ts'
import { aJob, anAllocation, aNode, anId } from '../build/index.ts'
import { until } from '../build/until.ts'
import { createTestServer, type TestServer } from './harness.ts'

/**
 * Every internal call, by everybody who could try it. Node B runs the allocation; what counts is
 * whether something comes of a call that only B may make.
 */
const SPEAKERS = ['nobody', 'user', 'node A', 'node B'] as const
type Speaker = (typeof SPEAKERS)[number]

interface InternalCall {
  readonly name: string
  readonly make: (world: World, speaker: Peer) => Promise<void>
  readonly came: (world: World, speaker: Peer) => boolean
}

const A = anId('node', 1)
const B = anId('node', 2)
const SECRETS = { [A]: anId('any', 1), [B]: anId('any', 2) }
const PATH = 'service/jobs/web'
const FILE = {
  Name: 'forged',
  IsDir: false,
  Size: 1,
  FileMode: '-rw-r--r--',
  ModTime: '2026-01-01T00:00:00Z',
  ContentType: '',
}

const CALLS: readonly InternalCall[] = [
  {
    name: 'say how an allocation stands',
    make: async ({ allocation }, { say }) =>
      say({
        kind: 'status',
        seq: 1,
        updates: [
          { ID: allocation, ClientStatus: 'failed', ClientDescription: 'x', TaskStates: null },
        ],
      }),
    came: ({ server, allocation }) =>
      server.context.store.tables.allocations.get(allocation).ClientStatus === 'failed',
  },
  {
    name: 'offer services of an allocation',
    make: async ({ allocation }, { say }) => {
      const ID = `_reeve-task-${allocation}-web-web-1`
      const services = [{ ID, ServiceName: 'web', Tags: [], Address: '127.0.0.1', Port: 1 }]
      say({ kind: 'services', seq: 1, sets: [{ allocation, services }], all: [allocation] })
    },
    came: ({ server }) => server.context.store.tables.service_registrations.size === 1,
  },
  {
    name: 'describe a machine',
    make: async (_world, { say }) =>
      say({ kind: 'node', node: { ...registration(B), Name: 'renamed' } }),
    came: ({ server }) => server.context.store.tables.nodes.get(B).Name === 'renamed',
  },
  {
    name: 'be heard as alive',
    make: async (_world, { say }) => say({ kind: 'heartbeat' }),
    came: ({ seen }) => seen.includes(B),
  },
  {
    name: 'read the variables of a task',
    make: async (_world, { say }) =>
      say({ kind: 'watch', id: 1, what: { topic: 'variable', namespace: 'default', path: PATH } }),
    came: (_world, { heard }) => heard.some((text) => text.includes('a secret of the task')),
  },
  {
    name: 'see where services are',
    make: async (_world, { say }) =>
      say({ kind: 'watch', id: 1, what: { topic: 'services', namespace: 'default' } }),
    came: (_world, { heard }) => heard.some((text) => text.includes('"facts"')),
  },
  {
    name: 'take the data of an allocation before',
    make: async ({ allocation }, { say }) => say({ kind: 'migrate', allocation }),
    came: (_world, { heard }) =>
      heard.some((text) => text.includes('no-data') && !text.includes('is not of this node')),
  },
  {
    name: 'answer a request',
    make: async (world, { say }) => {
      const id = await world.askNode()
      say({ kind: 'reply', id, ok: [FILE] })
      await turn()
    },
    came: ({ answers }) => answers.length > 0,
  },
]

for (const call of CALLS)
  for (const speaker of SPEAKERS)
    test(`internal: ${speaker} ${speaker === 'node B' ? 'may' : 'may not'} ${call.name} as node B`, async (t) => {
      const world = await aWorld(t)
      const peer = await world.connect(speaker)
      await call.make(world, peer)
      // Node B's own word: what was said before it has been dealt with.
      await world.settle(peer)
      assert.equal(call.came(world, peer), isAllowed(call, speaker))
    })

/** What every node may know, whoever it is: that there are services, and its own name alone. */
function isAllowed({ name }: InternalCall, speaker: Speaker): boolean {
  return speaker === 'node B' || (speaker === 'node A' && name === 'see where services are')
}

const strangers: readonly { readonly name: string; readonly secret: (world: World) => string }[] = [
  { name: 'without a secret', secret: () => '' },
  { name: 'with the secret of a node', secret: () => SECRETS[A] ?? '' },
  { name: 'with the join token', secret: () => 'join' },
  { name: 'with the token of a user', secret: ({ token }) => token },
]
for (const { name, secret } of strangers)
  test(`internal: nobody takes the stream of a node ${name}`, async (t) => {
    const world = await aWorld(t)
    const stream = await world.openStream()
    assert.equal(await world.dialStream(stream.id, secret(world)), 403)
    assert.equal(await world.dialStream(stream.id, stream.secret), 101)
    assert.equal(await world.dialStream(stream.id, stream.secret), 403, 'it is good for one dial')
  })

for (const secret of [SECRETS[A], 'join'])
  test(`internal: ${secret === 'join' ? 'the join token' : 'the secret of a node'} is no token`, async (t) => {
    const { server } = await aWorld(t)
    const authorization = { authorization: `Bearer ${secret}` }
    for (const path of ['/v1/jobs', '/v1/operator/snapshot', '/v1/acl/tokens', `/v1/var/${PATH}`])
      assert.equal((await server.send('GET', path, { token: secret })).status, 403, path)
    const governed = await server.send('GET', '/api/v2/organizations', { headers: authorization })
    assert.equal(governed.status, 401)
  })

test('internal: a connection is one node’s, and does not become another’s', async (t) => {
  const world = await aWorld(t)
  const peer = await world.connect('node A')
  peer.say(hello(B, SECRETS[B]))
  await once(peer.socket, 'close')
  assert.match(peer.heard.at(-1) ?? '', /second hello/)
})

const certificates: readonly {
  readonly who?: Holder
  readonly status: number
  /** What the node is told. */
  readonly problem?: RegExp
}[] = [
  { who: 'client', status: 101 },
  { who: 'server', status: 101 },
  { who: 'user', status: 403, problem: /this one names user\.example$/ },
  { who: 'client-eu', status: 403, problem: /this one names client\.eu\.reeve$/ },
  { who: 'foreign-client', status: 403, problem: /is not signed by an authority of tls\.ca_file/ },
  { who: 'server-auth-only', status: 403, problem: /has an extended key usage without clientAuth/ },
  { status: 403, problem: /this one shows none$/ },
]
for (const { who, status, problem } of certificates)
  for (const path of [NODE_CHANNEL_PATH, `${NODE_STREAM_PATH}/x`])
    test(`internal: with certificates, ${who ?? 'nobody'} at ${path} gets ${status}`, async (t) => {
      const security = httpTlsOptions(await aTls('server'))
      const server = await createTestServer({ aclEnabled: false, security })
      atEnd(t, () => server.close())
      const { ca, ...own } = certificate(who ?? 'user')
      const url = `${(await server.listen()).replace('https', 'wss')}${path}`
      const found = await upgrade(t, url, { ca, ...(who !== undefined && own) })
      // A stream that nobody waits for is refused for that.
      const wanted =
        status === 101 && path !== NODE_CHANNEL_PATH ? /no request is waiting/ : undefined
      assert.equal(found.status, wanted === undefined ? status : 403)
      if (wanted !== undefined) assert.match(found.text, wanted)
      else if (status === 403) assert.match(found.text, /prove themselves with a certificate/)
      if (problem !== undefined) assert.match(found.text, problem)
    })

interface Peer {
  readonly socket: WebSocket
  readonly heard: readonly string[]
  readonly say: (message: object) => void
}

interface World {
  readonly server: TestServer
  readonly allocation: string
  readonly token: string
  /** Nodes that were heard since both have joined. */
  readonly seen: readonly string[]
  /** What callers were answered for node B. */
  readonly answers: readonly string[]
  connect(speaker: Speaker): Promise<Peer>
  /** Until the server has dealt with all that was said. */
  settle(peer: Peer): Promise<void>
  /** Somebody asks node B for something: the id of the request. */
  askNode(): Promise<string>
  openStream(): Promise<{ readonly id: string; readonly secret: string }>
  dialStream(id: string, secret: string): Promise<number>
}

function registration(ID: string): NodeRegistration {
  return { ...aNode({ ID }), Attributes: {} }
}

function hello(ID: string, secret: string | undefined, joinToken?: string): object {
  const node = registration(ID)
  return { kind: 'hello', version: CHANNEL_VERSION, node, secret, joinToken }
}

async function aWorld(t: TestContext): Promise<World> {
  const seen: string[] = []
  const server = await createTestServer({ seen: (nodeId) => seen.push(nodeId) })
  atEnd(t, () => server.close())
  const { SecretID: token } = await server.ok('bootstrapAcl')
  const job = aJob({ ID: 'web' })
  const row = { ...anAllocation({ job, ClientStatus: 'running' }), ID: anId('alloc', 1), NodeID: B }
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', job), put('job_versions', job), put('allocations', row)],
  })
  const body = { Items: { value: 'a secret of the task' } }
  await server.ok('writeVariable', { params: { path: PATH }, body, token })
  const address = await server.listen()
  const channel = `${address.replace('http', 'ws')}${NODE_CHANNEL_PATH}`
  const first = await dial(t, channel)
  first.say(hello(A, SECRETS[A], 'join'))
  const real = await dial(t, channel)
  real.say(hello(B, SECRETS[B], 'join'))
  for (const peer of [first, real]) await until('a welcome', () => find(peer, '"welcome"'))
  seen.splice(0)
  const answers: string[] = []
  const ask = (path: string): void => {
    const reply = server.send('GET', `/v1/client${path}`, { token })
    void reply.then(({ status, text }) => status === 200 && answers.push(text))
  }
  return {
    server,
    allocation: row.ID,
    token,
    seen,
    answers,
    async connect(speaker) {
      if (speaker === 'node A') return first
      if (speaker === 'node B') return real
      const peer = await dial(t, channel)
      if (speaker === 'user') peer.say(hello(B, token))
      return peer
    },
    async settle(peer) {
      if (peer !== first && peer !== real) {
        if (peer.socket.readyState !== WebSocket.CLOSED) await once(peer.socket, 'close')
        return
      }
      const before = peer.heard.length
      peer.say({ kind: 'heartbeat' })
      await until('an answer', () => find(peer, '"heartbeat"', before))
      // Facts are told when they are durable.
      for (let turns = 0; turns < 20; turns++) await turn()
    },
    async askNode() {
      ask(`/fs/ls/${row.ID}?path=/`)
      const text = await until('the request', () => find(real, '"request"'))
      return String(JSON.parse(text).id)
    },
    async openStream() {
      ask(`/fs/cat/${row.ID}?path=/x`)
      const text = await until('the stream', () => find(real, '"open"'))
      const { stream, secret } = JSON.parse(text)
      return { id: String(stream), secret: String(secret) }
    },
    async dialStream(id, secret) {
      const url = `${address.replace('http', 'ws')}${NODE_STREAM_PATH}/${id}`
      const headers = { authorization: `Bearer ${secret}` }
      return (await upgrade(t, url, { headers })).status
    },
  }
}

function find({ heard }: Peer, what: string, from = 0): string | undefined {
  return heard.slice(from).find((text) => text.includes(what))
}

async function dial(t: TestContext, url: string): Promise<Peer> {
  const socket = new WebSocket(url)
  atEnd(t, () => socket.terminate())
  const heard: string[] = []
  // Text frames arrive as one Buffer.
  socket.on('message', (data: Buffer) => heard.push(data.toString()))
  await once(socket, 'open')
  return { socket, heard, say: (message) => socket.send(JSON.stringify(message)) }
}

/** The status that a request for a WebSocket is answered with. */
async function upgrade(
  t: TestContext,
  url: string,
  options: ClientOptions,
): Promise<{ readonly status: number; readonly text: string }> {
  const socket = new WebSocket(url, options)
  atEnd(t, () => socket.terminate())
  const { promise, resolve } = Promise.withResolvers<{ status: number; text: string }>()
  socket.on('error', () => undefined)
  socket.on('open', () => resolve({ status: 101, text: '' }))
  socket.on('unexpected-response', (_request, answer: IncomingMessage) => {
    let text = ''
    answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
  })
  return await promise
}
