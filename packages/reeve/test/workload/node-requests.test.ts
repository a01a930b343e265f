import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeRequest, OpenMessage, RequestMessage } from '@reeve/contract'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import { StreamBuffers, StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { NodeRpcClient, NodeSessions, type NodeSession } from '../../src/sessions/index.ts'
import { countingIds } from '../build/agent.ts'
import { aNode } from '../build/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { aStore } from '../build/store.ts'

const USAGE: NodeRequest = { verb: 'host-usage' }
const { SecretID: _secret, ...NODE } = aNode()

async function aNodeThatListens() {
  const { store } = await aStore()
  const changes = () => [put('nodes', { ...NODE, Status: 'ready', SecretHash: '' } as const)]
  await store.commit({ by: 'system', cause: undefined, changes }).durable
  const sessions = new NodeSessions(store)
  const clock = new SimulatedClock()
  const streamLimits = { execSessionsPerToken: 2, logStreamsPerToken: 3 }
  const requests = new NodeRpcClient({ sessions, clock, ids: countingIds(), streamLimits })
  // What names a question, of either kind.
  const sent: (Pick<RequestMessage, 'id'> & Pick<OpenMessage, 'stream' | 'secret'>)[] = []
  const session: NodeSession = {
    nodeId: NODE.ID,
    send: (text) => void sent.push(JSON.parse(joinChunks(text))),
    close: () => undefined,
  }
  sessions.attach(session)
  sent.length = 0
  const asked = (at: number) => sent[at] ?? assert.fail('nothing was asked')
  return { clock, requests, session, sent, asked, sessions }
}

function aSocket(clock: SimulatedClock) {
  const sent: string[] = []
  const nothing = (): void => undefined
  const socket = {
    bufferedAmount: 0,
    send: (data: string | Uint8Array) => void sent.push(String(data)),
    ping: nothing,
    pause: nothing,
    resume: nothing,
    close: nothing,
    terminate: nothing,
  }
  const buffers = new StreamBuffers({ streamBytesMax: 10, streamBytesMin: 10, totalBytesMax: 1e6 })
  const limits = { buffers, pingMs: 1e6, silentMsMax: 1e6 }
  return { sent, stream: new StreamSocket(socket, clock, limits) }
}

const READ = {
  request: { verb: 'read', allocation: NODE.ID, path: 'x', offset: 0 },
  accessorId: 'me',
} as const

test('node requests: the answer finds who asked', async () => {
  const { requests, session, asked } = await aNodeThatListens()
  const [one, two] = [requests.request(NODE.ID, USAGE), requests.request(NODE.ID, USAGE)]
  const ids = [0, 1].map((at) => asked(at).id)
  requests.handleReply(session, { kind: 'reply', id: ids[1] ?? '', ok: 'two' })
  requests.handleReply(session, {
    kind: 'reply',
    id: ids[0] ?? '',
    error: { status: 404, message: 'gone' },
  })
  assert.deepEqual(await two, { ok: true, value: 'two' })
  assert.deepEqual(await one, { ok: false, error: { code: 'not-on-node', message: 'gone' } })
})

test('node requests: what a node says is no gets the status that it gave', async () => {
  const { requests, session, asked, sent } = await aNodeThatListens()
  const cases = [
    [400, 'invalid-input'],
    [403, 'permission-denied'],
    [404, 'not-on-node'],
    [429, 'too-many-node-calls'],
    [500, 'node-failed'],
    [418, 'node-failed'],
  ] as const
  for (const [status, code] of cases) {
    const answer = requests.request(NODE.ID, USAGE)
    const { id } = asked(sent.length - 1)
    requests.handleReply(session, { kind: 'reply', id, error: { status, message: 'no' } })
    assert.deepEqual(await answer, { ok: false, error: { code, message: 'no' } })
  }
})

test('node requests: a node that is not there, is silent, or leaves answers by that', async () => {
  const { requests, session, clock } = await aNodeThatListens()
  const nowhere = await requests.request('another', USAGE)
  assert.equal(nowhere.ok ? '' : nowhere.error.message, 'No path to node')
  const silent = requests.request(NODE.ID, USAGE)
  clock.advance(LIMITS.nodeRequestTimeoutMs)
  assert.deepEqual(await silent, {
    ok: false,
    error: { code: 'node-silent', message: 'the node did not answer in time' },
  })
  const left = requests.request(NODE.ID, USAGE)
  requests.onSessionClosed(session)
  const answer = await left
  assert.equal(answer.ok ? '' : answer.error.code, 'node-unreachable')
})

test('node requests: only so many wait for one node, and another node cannot answer', async () => {
  const { requests, session, asked } = await aNodeThatListens()
  const waiting = Array.from({ length: LIMITS.nodeRequestsMax }, () =>
    requests.request(NODE.ID, USAGE),
  )
  const refused = await requests.request(NODE.ID, USAGE)
  assert.equal(refused.ok ? '' : refused.error.code, 'too-many-node-calls')
  const { id } = asked(0)
  requests.handleReply({ ...session, nodeId: 'liar' }, { kind: 'reply', id, ok: 'lie' })
  requests.handleReply(session, { kind: 'reply', id, ok: 'truth' })
  assert.deepEqual(await waiting[0], { ok: true, value: 'truth' })
  requests.handleReply(session, { kind: 'reply', id, ok: 'twice' })
  void requests.request(NODE.ID, USAGE)
  requests.close()
  for (const answer of await Promise.all(waiting.slice(1))) assert.equal(answer.ok, false)
})

test('node streams: opens once the node has dialled with its secret and said so', async () => {
  const { requests, clock, asked } = await aNodeThatListens()
  const opened = requests.open(NODE.ID, READ)
  const { stream, secret } = asked(0)
  assert.equal(requests.acceptStream(stream, 'wrong'), undefined)
  assert.equal(requests.acceptStream('other', secret), undefined)
  const { stream: socket } = aSocket(clock)
  requests.acceptStream(stream, secret)?.(socket)
  assert.equal(requests.acceptStream(stream, secret), undefined, 'the secret is good for once')
  socket.handleMessage(Buffer.from('{"opened":true}'), true)
  const result = await opened
  assert.equal(result.ok ? result.value : undefined, socket)
  assert.equal(requests.openStreams, 1)
  socket.handleClose(1000, '')
  assert.equal(requests.openStreams, 0)
})

test('node streams: what does not open is refused, and is not counted', async () => {
  const { requests, clock, asked, sent, session } = await aNodeThatListens()
  const words = [
    ['{"error":{"status":403,"message":"secret"}}', 'permission-denied', 'secret'],
    ['{}', 'node-failed', 'the node broke the protocol'],
    ['[', 'node-failed', 'the node broke the protocol'],
  ] as const
  for (const [text, code, message] of words) {
    const opened = requests.open(NODE.ID, READ)
    const { stream, secret } = asked(sent.length - 1)
    const { stream: socket } = aSocket(clock)
    requests.acceptStream(stream, secret)?.(socket)
    socket.handleMessage(Buffer.from(text), true)
    assert.deepEqual(await opened, { ok: false, error: { code, message } })
  }
  const late = requests.open(NODE.ID, READ)
  clock.advance(LIMITS.nodeStreamOpenTimeoutMs)
  assert.equal((await late).ok, false)
  const undialled = requests.open(NODE.ID, READ)
  const { stream } = asked(sent.length - 1)
  const error = { status: 500, message: 'no network' }
  requests.handleReply(session, { kind: 'reply', id: stream, error })
  assert.deepEqual(await undialled, {
    ok: false,
    error: { code: 'node-failed', message: 'no network' },
  })
  const left = requests.open(NODE.ID, READ)
  requests.onSessionClosed(session)
  assert.equal((await left).ok, false)
  assert.equal(requests.openStreams, 0)
})

test('node streams: only so many for one token', async () => {
  const { requests } = await aNodeThatListens()
  const open = Array.from({ length: 3 }, () => requests.open(NODE.ID, READ))
  assert.deepEqual(await requests.open(NODE.ID, READ), {
    ok: false,
    error: {
      code: 'too-many-streams',
      message:
        '3 log and file streams of this token are open (limits.log_streams_per_token); ' +
        'close one first',
    },
  })
  const other = requests.open(NODE.ID, { ...READ, accessorId: 'other' })
  requests.close()
  for (const result of await Promise.all([...open, other])) assert.equal(result.ok, false)
  assert.equal(requests.openStreams, 0)
})

test('node requests: a node that has not connected since the start is expected back', async () => {
  const { store } = await aStore()
  const { SecretID: _other, ...away } = aNode({ ID: '00000000-0000-4000-8000-00000000aaaa' })
  const rows = [
    put('nodes', { ...NODE, Status: 'ready', SecretHash: '' } as const),
    put('nodes', { ...away, Status: 'down', SecretHash: '' } as const),
  ]
  await store.commit({ by: 'system', cause: undefined, changes: () => rows }).durable
  const sessions = new NodeSessions(store)
  const requests = new NodeRpcClient({ sessions, clock: new SimulatedClock(), ids: countingIds() })
  const codeOf = async (nodeId: string): Promise<string> => {
    const [asked, opened] = [
      await requests.request(nodeId, USAGE),
      await requests.open(nodeId, READ),
    ]
    assert.ok(!asked.ok && !opened.ok)
    assert.equal(asked.error.code, opened.error.code)
    return asked.error.code
  }
  assert.equal(await codeOf(NODE.ID), 'node-connecting')
  assert.equal(await codeOf(away.ID), 'node-unreachable', 'it is down')
  const session: NodeSession = { nodeId: NODE.ID, send: () => undefined, close: () => undefined }
  sessions.attach(session)
  sessions.detach(session)
  assert.equal(await codeOf(NODE.ID), 'node-unreachable', 'it was here, and has left')
})
