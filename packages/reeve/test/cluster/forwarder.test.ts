import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as ask, type IncomingMessage, type Server } from 'node:http'
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ClusterRequestRouter } from '../../src/cluster/index.ts'
import { NODE_ROUTE } from '../../src/http/pipeline/upgrades.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { LIMITS } from '../../src/model/index.ts'
import { atEnd } from '../build/at-end.ts'
import { postInPieces } from '../build/post-in-pieces.ts'
import { anAdmission } from '../build/admission.ts'
import { SILENT_LOG } from '../build/agent.ts'
import { aPipeline } from '../build/pipeline.ts'

const key = Buffer.alloc(32, 3)

test('a request goes to the leader as it came, and its answer comes back as it is', async (t) => {
  const leader = await aLeader(t)
  const { address } = await aFollower(t, () => leader.host)
  const answer = await fetch(`${address}/v1/jobs?a=%20b`, {
    method: 'PUT',
    headers: { 'x-own': 'ü', 'content-type': 'text/odd', connection: 'keep-alive' },
    body: 'x'.repeat(100_000),
  })
  assert.equal(answer.status, 418)
  assert.equal(answer.headers.get('x-answer'), 'yes')
  assert.equal(await answer.text(), 'PUT /v1/jobs?a=%20b 100000')
  const [seen] = leader.requests
  assert.equal(seen?.headers['content-type'], 'text/odd')
  assert.equal(seen?.headers['x-own'], 'ü')
  assert.equal(seen?.headers.host, new URL(address).host, 'the server that was asked')
})

test('the head of a stream that says nothing yet comes at once', async (t) => {
  const leader = createServer((_, response) => response.writeHead(200).flushHeaders())
  await listen(t, leader)
  const { address } = await aFollower(t, () => hostOf(leader))
  const signal = AbortSignal.timeout(5_000)
  const answer = await fetch(`${address}/v1/job/web/logs?follow=true`, { signal })
  assert.equal(answer.status, 200)
  await answer.body?.cancel()
})

test('a request that was passed on is refused by whoever does not lead', async (t) => {
  // Each takes the other for the leader.
  const hosts: string[] = []
  const first = await aFollower(t, () => hosts[1] ?? '')
  const second = await aFollower(t, () => hosts[0] ?? '')
  hosts.push(new URL(first.address).host, new URL(second.address).host)
  const answer = await fetch(`${first.address}/v1/jobs`)
  assert.equal(answer.status, 503)
  assert.match(await answer.text(), /^no leader: /)
  assert.ok(answer.headers.has('x-request-id'))
})

const failures = [
  { name: 'a read', method: 'GET', path: '/v1/jobs', says: /^the leader at .* did not answer/ },
  { name: 'a write', method: 'PUT', path: '/v1/jobs', says: /; try again\. Nothing was done\.$/ },
  { name: 'governance', method: 'GET', path: '/api/v2/x', says: /^{"errors":\[{"status":"503"/ },
]
for (const c of failures)
  test(`a leader that is not there is told of in the dialect of ${c.name}`, async (t) => {
    const { address } = await aFollower(t, () => '127.0.0.1:1')
    const answer = await fetch(`${address}${c.path}`, { method: c.method })
    assert.equal(answer.status, 503)
    assert.match(await answer.text(), c.says)
  })

test('a write without a response of the leader is reported as in doubt', async (t) => {
  const leader = createServer((request) => request.socket.destroy())
  const { address } = await aFollower(t, () => hostOf(leader))
  await listen(t, leader)
  const answer = await fetch(`${address}/v1/jobs`, { method: 'PUT', body: '{}' })
  assert.equal(answer.status, 503)
  assert.match(await answer.text(), /; try again\. The request may or may not have happened\.$/)
})

test('a write whose TLS handshake fails has certainly done nothing', async (t) => {
  // Accepts connections, and closes them instead of answering the handshake.
  const leader = createTcpServer((socket) => {
    socket.once('data', () => socket.destroy())
    socket.on('error', () => undefined)
  })
  await once(leader.listen(0, '127.0.0.1'), 'listening')
  t.after(() => leader.close())
  // A server that listens on a port has such an address.
  const { port } = leader.address() as AddressInfo
  const dialOptions = () => ({ rejectUnauthorized: false })
  const { address } = await aFollower(t, () => `127.0.0.1:${port}`, dialOptions)
  const answer = await fetch(`${address}/v1/jobs`, { method: 'PUT', body: '{}' })
  assert.equal(answer.status, 503)
  assert.match(await answer.text(), /; try again\. Nothing was done\.$/)
})

test('a body that the leader refuses before it has all of it is answered with that refusal', async (t) => {
  const leader = aShell()
  const { bodies } = anAdmission()
  leader.post('/v1/jobs', (request) =>
    bodies.read(request, { tenant: 'a', bytesMax: LIMITS.bodyBytesMax }),
  )
  atEnd(t, () => leader.close())
  const { host } = new URL(await leader.listen({ host: '127.0.0.1', port: 0 }))
  const { address } = await aFollower(t, () => host)
  for (let round = 0; round < 6; round++)
    assert.equal(await postInPieces(`${address}/v1/jobs`, 3 * LIMITS.bodyBytesMax), 413)
})

test('a leader that hangs up on a body that it refused cuts nobody off who still sends it', async (t) => {
  const taken = Promise.withResolvers<Socket>()
  const leader = createServer((request, response) => {
    response.writeHead(413).end('too much')
    taken.resolve(request.socket)
  })
  const { address } = await aFollower(t, () => hostOf(leader))
  await listen(t, leader)
  const asked = ask(`${address}/v1/jobs`, { method: 'POST' })
  const piece = Buffer.alloc(65_536, 'a')
  asked.write(piece)
  // Node's documentation: this event has one argument, the answer.
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  assert.equal(answer.statusCode, 413)
  const hungUp = await taken.promise
  hungUp.resetAndDestroy()
  for (let sent = 0; sent < 3 * LIMITS.bodyBytesMax; sent += piece.length) {
    asked.write(piece)
    await setImmediate()
  }
  asked.end()
  await once(asked, 'finish')
  await once(answer.resume(), 'close')
})

test('what waits for a leader that sleeps ends when another leads', async (t) => {
  const silent = createServer(() => undefined)
  const { gate, address } = await aFollower(t, () => hostOf(silent))
  await listen(t, silent)
  const waiting = fetch(`${address}/v1/jobs`)
  await once(silent, 'request')
  gate.leaderChanged('10.0.0.9:4646')
  assert.equal((await waiting).status, 503)
})

test('a caller that goes ends what was asked for it', async (t) => {
  const gone = Promise.withResolvers<void>()
  const silent = createServer((request) => request.on('close', () => gone.resolve()))
  const { address } = await aFollower(t, () => hostOf(silent))
  await listen(t, silent)
  const caller = new AbortController()
  const waiting = fetch(`${address}/v1/jobs`, { signal: caller.signal })
  waiting.catch(() => undefined)
  await once(silent, 'request')
  caller.abort()
  await gone.promise
})

test('a caller that goes before all of its body is sent ends what was asked for it', async (t) => {
  const gone = Promise.withResolvers<void>()
  const silent = createServer((request) => request.on('close', () => gone.resolve()))
  const { address } = await aFollower(t, () => hostOf(silent))
  await listen(t, silent)
  const asked = ask(`${address}/v1/jobs`, { method: 'POST' })
  asked.on('error', () => undefined)
  asked.write('{')
  await once(silent, 'request')
  asked.destroy()
  await gone.promise
})

test('an upgraded connection is joined to the leader, both ways', async (t) => {
  const leader = createServer()
  leader.on('upgrade', (request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\nconnection: upgrade\r\n\r\n')
    socket.write(`hello ${request.url} `)
    socket.pipe(socket)
  })
  const { address } = await aFollower(t, () => hostOf(leader))
  await listen(t, leader)
  const asked = ask(`${address}/v1/node/x`, {
    headers: { connection: 'upgrade', upgrade: 'echo' },
  }).end()
  const [, socket, head] = await once(asked, 'upgrade')
  const wanted = 'hello /v1/node/x and back'
  socket.unshift(head)
  socket.write('and back')
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    if (text.length >= wanted.length) break
  }
  assert.equal(text, wanted)
})

test('a target that is no path reaches nobody but the leader, and ends nothing', async (t) => {
  const leader = await aLeader(t)
  const { address } = await aFollower(t, () => leader.host)
  for (const target of [
    'http://evil.example/v1/jobs',
    '//evil.example/v1/jobs',
    '/v1/%zz/\xff',
    '*',
  ]) {
    const socket = connect(Number(new URL(address).port), '127.0.0.1')
    socket.write(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`, 'latin1')
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString()))
    await once(socket, 'close')
    assert.match(text, /^HTTP\/1\.1 (418|4\d\d|503) /, target)
  }
  assert.equal((await fetch(`${address}/v1/jobs`)).status, 418)
})

test('an upgrade without a leader is refused', async (t) => {
  const { address } = await aFollower(t, () => '')
  const socket = connect(Number(new URL(address).port), '127.0.0.1')
  socket.write('GET /v1/node/x HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  await once(socket, 'close')
  assert.match(text, /^HTTP\/1\.1 503 [\s\S]*no leader: /)
})

async function aLeader(t: TestContext) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    let bytes = 0
    request.on('data', (chunk: Buffer) => (bytes += chunk.length))
    request.on('end', () => {
      response.writeHead(418, { 'x-answer': 'yes' })
      response.end(`${request.method} ${request.url} ${bytes}`)
    })
  })
  await listen(t, server)
  return { host: hostOf(server), requests }
}

/** The real server, with one route for every path that a follower forwards to the leader. */
async function aFollower(
  t: TestContext,
  leader: () => string,
  dialOptions?: () => { readonly rejectUnauthorized: boolean },
) {
  const gate = new ClusterRequestRouter({
    leadership: () => ({ isLeading: false, leaderAddress: leader() }),
    confirm: async () => false,
    staleness: () => ({ lastContactMs: 0, knownLeader: true }),
    selfAddress: () => 'nobody:1',
    key,
    nowMs: () => Date.now(),
    ...(dialOptions !== undefined && { dialOptions }),
  })
  const { pipeline, routing } = aPipeline(gate)
  const app = aShell({ pipeline, routing })
  app.route({
    method: ['GET', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS'],
    url: '/*',
    onRequest: pipeline.stages(() => NODE_ROUTE),
    handler: () => 'answered here',
  })
  app.server.on('upgrade', (request, socket, head) =>
    routing.routeUpgrade(request, socket, head, NODE_ROUTE),
  )
  atEnd(t, async () => {
    gate.close()
    app.server.closeAllConnections()
    await app.close()
  })
  return { gate, address: await app.listen({ host: '127.0.0.1', port: 0 }) }
}

function aShell({ pipeline } = aPipeline()) {
  return createHttpServer({
    pipeline,
    log: SILENT_LOG,
    responseHeaders: {},
    usesPlainHttp: false,
    isDraining: () => false,
    observerOf: () => () => undefined,
    isUpgrade: () => true,
  })
}

async function listen(t: TestContext, server: Server): Promise<void> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
}

function hostOf(server: Server): string {
  // A server that listens on an address has one of these.
  const { port } = server.address() as AddressInfo
  return `127.0.0.1:${port}`
}
