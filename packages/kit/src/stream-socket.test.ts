import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../test/simulated-clock.ts'
import { pipeMessages, StreamBuffers, StreamSocket, type WebSocketLike } from './stream-socket.ts'

/** A socket whose network accepts bytes only when the test calls `take`. */
class FakeSocket implements WebSocketLike {
  bufferedAmount = 0
  isPaused = false
  pings = 0
  closed: readonly [number | undefined, string | undefined] | undefined
  isTerminated = false
  readonly sent: (readonly [string, boolean])[] = []
  readonly #waiting: (readonly [number, () => void])[] = []

  send(data: string | Uint8Array, { binary }: { readonly binary: boolean }, done: () => void) {
    this.sent.push([typeof data === 'string' ? data : Buffer.from(data).toString(), binary])
    this.bufferedAmount += data.length
    this.#waiting.push([data.length, done])
  }

  /** The network accepts one message. */
  take(): void {
    const [length, done] = this.#waiting.shift() ?? assert.fail('nothing waits')
    this.bufferedAmount -= length
    done()
  }

  ping(): void {
    this.pings += 1
  }
  pause(): void {
    this.isPaused = true
  }
  resume(): void {
    this.isPaused = false
  }
  close(code?: number, reason?: string): void {
    this.closed = [code, reason]
  }
  terminate(): void {
    this.isTerminated = true
  }
}

function aStream() {
  const socket = new FakeSocket()
  const clock = new SimulatedClock()
  const limits = {
    buffers: new StreamBuffers({ streamBytesMax: 100, streamBytesMin: 10, totalBytesMax: 1_000 }),
    pingMs: 10,
    silentMsMax: 60,
  }
  return { socket, clock, stream: new StreamSocket(socket, clock, limits) }
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const mark = {}
  return (await Promise.race([promise, Promise.resolve(mark)])) !== mark
}

test('stream socket: nothing is read before a handler is set', () => {
  const { socket, stream } = aStream()
  assert.equal(socket.isPaused, true)
  stream.handleMessage(Buffer.from('early'), true)
  const got: string[] = []
  stream.onMessage((data) => got.push(Buffer.from(data).toString()))
  assert.equal(socket.isPaused, false)
  stream.handleMessage(Buffer.from('late'), true)
  assert.deepEqual(got, ['early', 'late'])
  stream.detach()
  assert.equal(socket.isPaused, true)
  stream.handleMessage(Buffer.from('held'), true)
  assert.deepEqual(got, ['early', 'late'])
})

test('stream socket: a sender waits while the buffer is full', async () => {
  const { socket, stream } = aStream()
  stream.send('x'.repeat(60))
  assert.equal(stream.isFull, false)
  stream.send(Buffer.alloc(60))
  assert.equal(stream.isFull, true)
  const drained = stream.drained()
  assert.equal(await isSettled(drained), false)
  socket.take()
  assert.equal(await isSettled(drained), false, 'half must be gone')
  socket.take()
  assert.equal(await isSettled(drained), true)
  assert.deepEqual(
    socket.sent.map(([, binary]) => binary),
    [false, true],
  )
})

test('stream socket: waiting senders resume when the stream ends', async () => {
  const { stream } = aStream()
  stream.send('x'.repeat(200))
  const drained = stream.drained()
  const ends: unknown[] = []
  stream.onClose((...end) => ends.push(end))
  stream.handleClose(1000, 'done')
  stream.handleClose(1006, 'again')
  stream.onClose((...end) => ends.push(end))
  assert.equal(await isSettled(drained), true)
  assert.deepEqual(ends, [
    [1000, 'done'],
    [1000, 'done'],
  ])
  stream.send('dropped')
  assert.equal(stream.isFull, false)
})

test('stream socket: a silent peer is disconnected, but not while reading is paused', () => {
  const { socket, clock, stream } = aStream()
  clock.advance(200)
  assert.equal(socket.isTerminated, false, 'nobody listens yet')
  assert.ok(socket.pings > 0)
  stream.onMessage(() => undefined)
  clock.advance(50)
  stream.noteActivity()
  clock.advance(50)
  assert.equal(socket.isTerminated, false)
  clock.advance(50)
  assert.equal(socket.isTerminated, true)
  assert.equal(stream.isClosed, true)
})

test('stream socket: a closing socket reads to its end and delivers nothing', () => {
  const { socket, stream } = aStream()
  const got: unknown[] = []
  stream.onMessage((data) => got.push(data))
  stream.pause()
  stream.close(1008, 'no')
  assert.deepEqual(socket.closed, [1008, 'no'])
  assert.equal(socket.isPaused, false)
  stream.handleMessage(Buffer.from('late'), true)
  assert.deepEqual(got, [])
})

test('pipeMessages: a slow reader makes the writer wait, and message types are kept', async () => {
  const [from, to] = [aStream(), aStream()]
  pipeMessages(from.stream, to.stream)
  from.stream.handleMessage(Buffer.from('text'), true)
  from.stream.handleMessage(Buffer.alloc(150), false)
  assert.deepEqual(
    to.socket.sent.map(([, binary]) => binary),
    [false, true],
  )
  assert.equal(from.socket.isPaused, true)
  to.socket.take()
  to.socket.take()
  await Promise.resolve()
  assert.equal(from.socket.isPaused, false)
})

test('stream socket: a long close reason is truncated between characters', () => {
  const { socket, stream } = aStream()
  stream.close(1011, `${'x'.repeat(122)}äöü`)
  assert.deepEqual(socket.closed, [1011, 'x'.repeat(122)])
})

const shares = [
  { streams: 1, bytesMax: 100 },
  { streams: 10, bytesMax: 100 },
  { streams: 20, bytesMax: 50 },
  { streams: 100, bytesMax: 10 },
  { streams: 1_000, bytesMax: 10 },
]
for (const { streams, bytesMax } of shares)
  test(`stream buffers: each of ${streams} streams may buffer ${bytesMax} bytes of 1000`, () => {
    const limits = { streamBytesMax: 100, streamBytesMin: 10, totalBytesMax: 1_000 }
    const buffers = new StreamBuffers(limits)
    const open = Array.from({ length: streams }, () => {
      const stream = new StreamSocket(new FakeSocket(), new SimulatedClock(), {
        buffers,
        pingMs: 10,
        silentMsMax: 60,
      })
      return stream
    })
    assert.equal(buffers.bytesMax, bytesMax)
    for (const stream of open.slice(1)) stream.terminate()
    assert.equal(buffers.bytesMax, 100, 'closed streams need none')
  })

test('pipeMessages: messages already read by a paused socket share one wait', async () => {
  const [from, to] = [aStream(), aStream()]
  pipeMessages(from.stream, to.stream)
  for (let i = 0; i < 10; i++) from.stream.handleMessage(Buffer.alloc(150), false)
  for (let i = 0; i < 10; i++) to.socket.take()
  await Promise.resolve()
  assert.equal(from.socket.isPaused, false)
  assert.equal(to.socket.sent.length, 10)
})

test('stream socket: a throttled stream resumes when the budget allows', () => {
  const { socket, clock, stream } = aStream()
  const waitsMs = [0, 5, 0]
  stream.throttle(() => waitsMs.shift() ?? 0)
  const received: string[] = []
  stream.onMessage((data) => received.push(Buffer.from(data).toString()))
  stream.handleMessage(Buffer.from('a'), false)
  assert.equal(socket.isPaused, false)
  stream.handleMessage(Buffer.from('b'), false)
  assert.equal(socket.isPaused, true)
  // Sending a close frame resumes reading even if the reader paused.
  stream.pause()
  stream.resume()
  assert.equal(socket.isPaused, true)
  clock.advance(4)
  assert.equal(socket.isPaused, true)
  clock.advance(1)
  assert.deepEqual([socket.isPaused, received], [false, ['a', 'b']])
})

test('stream socket: the budget does not resume a paused reader', () => {
  const { socket, clock, stream } = aStream()
  stream.throttle(() => 5)
  stream.onMessage(() => stream.pause())
  stream.handleMessage(Buffer.from('a'), false)
  clock.advance(5)
  assert.equal(socket.isPaused, true)
  stream.resume()
  assert.equal(socket.isPaused, false)
})

test('stream socket: closing a throttled stream still reads the close frame', () => {
  const { socket, stream } = aStream()
  stream.throttle(() => 1_000)
  stream.onMessage(() => undefined)
  stream.handleMessage(Buffer.from('a'), false)
  assert.equal(socket.isPaused, true)
  stream.close()
  assert.equal(socket.isPaused, false)
})
