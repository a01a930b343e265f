import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { WebSocketServer, type WebSocket } from 'ws'
import { anEmptyAddress, aServer, inTurn } from '../../test/local-server.ts'
import { manualTiming } from '../../test/manual-timing.ts'
import { createClient, type Client } from '../client.ts'
import type { ClientOptions } from '../call/connection.ts'
import { ConnectionError, ExecError } from '../errors.ts'

interface Peer {
  readonly client: Client
  /** Path and query of every channel. */
  readonly targets: readonly string[]
  /** Every frame that arrived, as it came. */
  readonly frames: readonly unknown[]
  /** Resolves when as many frames have arrived. */
  heard(count: number): Promise<void>
}

type Play = (socket: WebSocket) => void

/** A server that plays the other side of one session. */
async function aPeer(
  t: TestContext,
  play: Play,
  options: Partial<ClientOptions> = {},
): Promise<Peer> {
  const http = createServer()
  const sockets = new WebSocketServer({ server: http })
  const targets: string[] = []
  const frames: unknown[] = []
  let waiting: { readonly count: number; readonly done: () => void } | undefined
  sockets.on('connection', (socket, request) => {
    targets.push(request.url ?? '')
    socket.on('message', (data: Buffer) => {
      frames.push(JSON.parse(data.toString()))
      if (waiting !== undefined && frames.length >= waiting.count) waiting.done()
    })
    play(socket)
  })
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate()
    http.close()
  })
  // A server that listens on TCP has such an address.
  const { port } = http.address() as AddressInfo
  const client = createClient({ address: `http://127.0.0.1:${port}`, ...options })
  const heard = (count: number) =>
    new Promise<void>((done) => {
      if (frames.length >= count) done()
      else waiting = { count, done }
    })
  return { client, targets, frames, heard }
}

const ls = { allocId: 'a-1', task: 'web', command: ['ls', '-l', 'é "x"'] } as const

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function say(socket: WebSocket, ...frames: readonly object[]): void {
  for (const frame of frames) socket.send(JSON.stringify(frame))
}

async function textOf(output: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of output) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const exited = (exit_code: number) => ({ exited: true, result: { exit_code } })

test('a command gives its outputs and its exit code', async (t) => {
  const peer = await aPeer(t, (socket) => {
    say(
      socket,
      {},
      { stdout: { data: base64('one ') } },
      { stderr: { data: base64('oops') } },
      { stdout: { data: base64('two') } },
      { stdout: { close: true } },
      { stderr: { close: true } },
      exited(3),
    )
  })
  const session = await peer.client.exec(ls)
  assert.equal(await textOf(session.stdout), 'one two')
  assert.equal(await textOf(session.stderr), 'oops')
  assert.equal(await session.exit, 3)
})

test('the channel is asked for with everything the request names', async (t) => {
  const peer = await aPeer(t, (socket) => say(socket, exited(0)))
  const session = await peer.client.exec({ ...ls, tty: true, namespace: 'dev', region: 'north' })
  await session.exit
  const url = new URL(peer.targets[0] ?? '', 'http://h')
  assert.equal(url.pathname, '/v1/client/allocation/a-1/exec')
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    task: 'web',
    command: '["ls","-l","é \\"x\\""]',
    tty: 'true',
    namespace: 'dev',
    region: 'north',
  })
})

test('the token goes into the first frame and never into the address', async (t) => {
  const peer = await aPeer(t, () => undefined, { token: 's3cret', namespace: 'dev' })
  const session = await peer.client.exec({ ...ls, size: { height: 24, width: 80 } })
  await peer.heard(2)
  assert.deepEqual(peer.frames, [
    { version: 1, auth_token: 's3cret' },
    { tty_size: { height: 24, width: 80 } },
  ])
  assert.match(peer.targets[0] ?? '', /namespace=dev.*ws_handshake=true/)
  assert.doesNotMatch(peer.targets[0] ?? '', /s3cret/)
  session.close()
})

test('input, its end and a new size reach the command in order', async (t) => {
  const peer = await aPeer(t, () => undefined)
  const session = await peer.client.exec(ls)
  await Promise.all([session.stdin.write('é'), session.stdin.write(Uint8Array.of(0, 255))])
  session.resize({ height: 1, width: 2 })
  await session.stdin.close()
  await peer.heard(4)
  assert.deepEqual(peer.frames, [
    { stdin: { data: base64('é') } },
    { stdin: { data: 'AP8=' } },
    { tty_size: { height: 1, width: 2 } },
    { stdin: { close: true } },
  ])
  session.close()
})

test('large input is sent in pieces that a server takes, without mixing two writes', async (t) => {
  const peer = await aPeer(t, () => undefined)
  const session = await peer.client.exec(ls)
  const [a, b] = ['a'.repeat(40_000), 'b'.repeat(20_000)]
  await Promise.all([session.stdin.write(a), session.stdin.write(b)])
  await peer.heard(5)
  const pieces = peer.frames.map((frame) => {
    // The frames of this test are all input.
    const { stdin } = frame as { stdin: { data: string } }
    return Buffer.from(stdin.data, 'base64').toString()
  })
  assert.ok(pieces.every((piece) => piece.length <= 16_384))
  assert.equal(pieces.join(''), a + b)
  session.close()
})

test('a writer waits while the network has not taken what was written', async (t) => {
  const timing = manualTiming((ms) => ms === 10)
  let pending = 5_000_000
  const openSocket = (url: string) => {
    const socket = new globalThis.WebSocket(url)
    Object.defineProperty(socket, 'bufferedAmount', { get: () => (pending -= 1_000_000) })
    return socket
  }
  const peer = await aPeer(t, () => undefined, { timing, openWebSocket: openSocket })
  const session = await peer.client.exec(ls)
  await session.stdin.write('x')
  assert.equal(timing.delays.filter((ms) => ms === 10).length, 3)
  session.close()
})

test('an exit code that is missing is 0', async (t) => {
  const peer = await aPeer(t, (socket) => say(socket, { exited: true, result: {} }))
  assert.equal(await (await peer.client.exec(ls)).exit, 0)
})

test('output that was not read before the exit can still be read', async (t) => {
  const peer = await aPeer(t, (socket) => {
    say(socket, { stdout: { data: base64('late') } }, exited(0))
  })
  const session = await peer.client.exec(ls)
  await session.exit
  assert.equal(await textOf(session.stdout), 'late')
})

test('leaving an output drops what follows, and the command goes on', async (t) => {
  const peer = await aPeer(t, (socket) => {
    say(socket, { stdout: { data: base64('1') } }, { stdout: { data: base64('2') } }, exited(0))
  })
  const session = await peer.client.exec(ls)
  for await (const _ of session.stdout) break
  assert.equal(await session.exit, 0)
  assert.equal(await textOf(session.stdout), '')
})

const refusals: readonly (readonly [number, string])[] = [
  [1008, 'Permission denied'],
  [1008, 'task "web" not started yet.'],
  [1011, 'no such file'],
]
for (const [code, reason] of refusals) {
  test(`a session that is closed with ${code} "${reason}" fails everywhere with it`, async (t) => {
    const peer = await aPeer(t, (socket) => socket.close(code, reason))
    const session = await peer.client.exec(ls)
    const isIt = (error: unknown) =>
      error instanceof ExecError && error.code === code && error.reason === reason
    await assert.rejects(session.exit, isIt)
    await assert.rejects(textOf(session.stdout), isIt)
    await assert.rejects(textOf(session.stderr), isIt)
    await assert.rejects(session.stdin.write('x'), ExecError)
  })
}

test('a session that ends without exit code fails, after the output that came', async (t) => {
  const peer = await aPeer(t, (socket) => {
    say(socket, { stdout: { data: base64('half') } })
    socket.close(1000)
  })
  const session = await peer.client.exec(ls)
  const chunks: string[] = []
  await assert.rejects(async () => {
    for await (const chunk of session.stdout) chunks.push(Buffer.from(chunk).toString())
  }, ExecError)
  assert.deepEqual(chunks, ['half'])
})

test('a channel that breaks fails the session', async (t) => {
  const peer = await aPeer(t, (socket) => socket.terminate())
  const session = await peer.client.exec(ls)
  await assert.rejects(session.exit, (error) => error instanceof ExecError && error.code === 1006)
})

const hostile: readonly (readonly [string, string | Buffer])[] = [
  ['no JSON', '{'],
  ['no object', '5'],
  ['null', 'null'],
  ['binary', Buffer.from('{}')],
  ['output without base64', '{"stdout":{"data":"?"}}'],
  ['output that is no text', '{"stderr":{"data":5}}'],
  ['an exit code of text', '{"exited":true,"result":{"exit_code":"0"}}'],
]
for (const [name, frame] of hostile) {
  test(`a frame of ${name} fails the session`, async (t) => {
    const peer = await aPeer(t, (socket) => socket.send(frame))
    const session = await peer.client.exec(ls)
    await assert.rejects(
      session.exit,
      (error) => error instanceof ConnectionError && error.reason === 'unreadable',
    )
  })
}

test('members of a frame that are unknown or null are ignored', async (t) => {
  const frames = [{ more: 1 }, { stdout: null, stderr: {} }, { exited: true, result: null }]
  const peer = await aPeer(t, (socket) => say(socket, ...frames))
  assert.equal(await (await peer.client.exec(ls)).exit, 0)
})

test('output that nobody reads ends the session before it fills the memory', async (t) => {
  const data = Buffer.alloc(1024 * 1024).toString('base64')
  const frame = JSON.stringify({ stdout: { data } })
  const peer = await aPeer(t, (socket) => {
    for (let i = 0; i < 66; i++) socket.send(frame)
  })
  const session = await peer.client.exec(ls)
  await assert.rejects(session.exit, /bytes of output were not read/)
})

test('a heartbeat is sent every ten seconds while the session lasts', async (t) => {
  const timing = manualTiming((ms) => ms === 10_000)
  const peer = await aPeer(t, () => undefined, { timing })
  const session = await peer.client.exec(ls)
  await peer.heard(3)
  assert.deepEqual(peer.frames.slice(0, 3), [{}, {}, {}])
  session.close()
  const { length } = timing.delays
  await setImmediate()
  assert.equal(timing.delays.length, length)
})

test('a server that is silent for a minute is taken for lost', async (t) => {
  const timing = manualTiming((ms) => ms === 10_000)
  const peer = await aPeer(t, () => undefined, { timing })
  const session = await peer.client.exec(ls)
  await assert.rejects(session.exit, /has been silent for 60 s/)
})

test('a server that is not there is told apart from a refusal', async () => {
  const client = createClient({ address: await anEmptyAddress() })
  await assert.rejects(
    client.exec(ls),
    (error) => error instanceof ConnectionError && error.reason === 'unreachable',
  )
})

test('a server that does not upgrade is unreachable for sessions', async (t) => {
  const server = await aServer(t, inTurn({ status: 403, body: 'no' }))
  const client = createClient({ address: server.address })
  await assert.rejects(client.exec(ls), /cannot open a channel to http.*proxy/)
})

test('a channel that does not open in time is a timeout', async (t) => {
  const server = createServer().on('upgrade', (_request, socket) => {
    t.after(() => socket.destroy())
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo
  const timing = manualTiming((ms) => ms === 60_000)
  const client = createClient({ address: `http://127.0.0.1:${port}`, timing })
  await assert.rejects(
    client.exec(ls),
    (error) => error instanceof ConnectionError && error.reason === 'timeout',
  )
})

test('a signal ends the session with its reason and closes the channel', async (t) => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const closed = Promise.withResolvers<number>()
  const peer = await aPeer(t, (socket) => socket.on('close', (code) => closed.resolve(code)))
  const session = await peer.client.exec({ ...ls, signal: controller.signal })
  controller.abort(reason)
  await assert.rejects(session.exit, reason)
  await assert.rejects(textOf(session.stdout), reason)
  assert.equal(await closed.promise, 1000)
})

test('a signal that has aborted opens nothing', async (t) => {
  const peer = await aPeer(t, () => undefined)
  const reason = new Error('enough')
  await assert.rejects(peer.client.exec({ ...ls, signal: AbortSignal.abort(reason) }), reason)
  assert.deepEqual(peer.targets, [])
})

test('closing the session leaves the command to the server', async (t) => {
  const closed = Promise.withResolvers<number>()
  const peer = await aPeer(t, (socket) => socket.on('close', (code) => closed.resolve(code)))
  const session = await peer.client.exec(ls)
  session.close()
  session.resize({ height: 1, width: 1 })
  assert.equal(await closed.promise, 1000)
  await assert.rejects(session.exit, /left by the caller/)
})

test('the action of a job is a session too', async (t) => {
  const peer = await aPeer(t, (socket) => say(socket, exited(0)), { token: 's3cret' })
  const session = await peer.client.v1.runJobAction({
    params: { job_id: 'web/1' },
    query: { action: 'migrate', task: 'db', allocID: 'a-1' },
  })
  assert.equal(await session.exit, 0)
  assert.equal(
    peer.targets[0],
    '/v1/job/web%2F1/action?action=migrate&task=db&allocID=a-1&ws_handshake=true',
  )
})
