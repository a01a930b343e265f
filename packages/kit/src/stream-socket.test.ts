import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../test/simulated-clock.ts'
import { pass, StreamBuffers, StreamSocket, type SocketLike } from './stream-socket.ts'

/** A socket whose network accepts bytes only when the test calls `take`. */
class FakeSocket implements SocketLike {
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

test('stream socket: nothing is read before someone listens', () => {
  const { socket, stream } = aStream()
  assert.equal(socket.isPaused, true)
  stream.received(Buffer.from('early'), true)
  const got: string[] = []
  stream.onMessage((data) => got.push(Buffer.from(data).toString()))
  assert.equal(socket.isPaused, false)
  stream.received(Buffer.from('late'), true)
  assert.deepEqual(got, ['early', 'late'])
  stream.hold()
  assert.equal(socket.isPaused, true)
  stream.received(Buffer.from('held'), true)
  assert.deepEqual(got, ['early', 'late'])
})

test('stream socket: a sender waits while too much is on its way', async () => {
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

test('stream socket: who waits for a stream that ends is let go', async () => {
  const { stream } = aStream()
  stream.send('x'.repeat(200))
  const drained = stream.drained()
  const ends: unknown[] = []
  stream.onClose((...end) => ends.push(end))
  stream.closed(1000, 'done')
  stream.closed(1006, 'again')
  stream.onClose((...end) => ends.push(end))
  assert.equal(await isSettled(drained), true)
  assert.deepEqual(ends, [
    [1000, 'done'],
    [1000, 'done'],
  ])
  stream.send('dropped')
  assert.equal(stream.isFull, false)
})

test('stream socket: silence ends it, but not while this side does not listen', () => {
  const { socket, clock, stream } = aStream()
  clock.advance(200)
  assert.equal(socket.isTerminated, false, 'nobody listens yet')
  assert.ok(socket.pings > 0)
  stream.onMessage(() => undefined)
  clock.advance(50)
  stream.heard()
  clock.advance(50)
  assert.equal(socket.isTerminated, false)
  clock.advance(50)
  assert.equal(socket.isTerminated, true)
  assert.equal(stream.isClosed, true)
})

test('stream socket: one that is being closed reads to its end and hands nothing on', () => {
  const { socket, stream } = aStream()
  const got: unknown[] = []
  stream.onMessage((data) => got.push(data))
  stream.pause()
  stream.close(1008, 'no')
  assert.deepEqual(socket.closed, [1008, 'no'])
  assert.equal(socket.isPaused, false)
  stream.received(Buffer.from('late'), true)
  assert.deepEqual(got, [])
})

test('pass: a slow reader makes the writer wait, and messages stay what they are', async () => {
  const [from, to] = [aStream(), aStream()]
  pass(from.stream, to.stream)
  from.stream.received(Buffer.from('text'), true)
  from.stream.received(Buffer.alloc(150), false)
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

test('stream socket: a reason that is too long is cut between characters', () => {
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

test('pass: messages that a paused socket had read add no wait for each', async () => {
  const [from, to] = [aStream(), aStream()]
  pass(from.stream, to.stream)
  for (let i = 0; i < 10; i++) from.stream.received(Buffer.alloc(150), false)
  for (let i = 0; i < 10; i++) to.socket.take()
  await Promise.resolve()
  assert.equal(from.socket.isPaused, false)
  assert.equal(to.socket.sent.length, 10)
})

test('stream socket: a stream whose budget is used up is read when there is some again', () => {
  const { socket, clock, stream } = aStream()
  const waitsMs = [0, 5, 0]
  stream.throttle(() => waitsMs.shift() ?? 0)
  const received: string[] = []
  stream.onMessage((data) => received.push(Buffer.from(data).toString()))
  stream.received(Buffer.from('a'), false)
  assert.equal(socket.isPaused, false)
  stream.received(Buffer.from('b'), false)
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

test('stream socket: a reader that has paused is not read for when its budget is back', () => {
  const { socket, clock, stream } = aStream()
  stream.throttle(() => 5)
  stream.onMessage(() => stream.pause())
  stream.received(Buffer.from('a'), false)
  clock.advance(5)
  assert.equal(socket.isPaused, true)
  stream.resume()
  assert.equal(socket.isPaused, false)
})

test('stream socket: one that is closed while its budget is used up reads the answer', () => {
  const { socket, stream } = aStream()
  stream.throttle(() => 1_000)
  stream.onMessage(() => undefined)
  stream.received(Buffer.from('a'), false)
  assert.equal(socket.isPaused, true)
  stream.close()
  assert.equal(socket.isPaused, false)
})
