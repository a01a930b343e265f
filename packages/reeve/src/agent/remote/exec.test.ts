import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { turn } from '../../../test/build/agent.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { StreamBuffers, StreamSocket } from '@reeve/kit/stream-socket.ts'
import type { ExecSession, TerminalSize } from '../driver.ts'
import { serveExec } from './exec.ts'

/** A caller whose frames and whose slowness are the test's, and a command likewise. */
function aSession() {
  const clock = new SimulatedClock()
  const sent: string[] = []
  const closed: unknown[] = []
  const socket = {
    bufferedAmount: 0,
    isPaused: false,
    send: (data: string | Uint8Array, _options: object, done: () => void) => {
      sent.push(String(data))
      done()
    },
    ping: () => undefined,
    pause: () => void (socket.isPaused = true),
    resume: () => void (socket.isPaused = false),
    close: (code?: number, reason?: string) => void closed.push([code, reason]),
    terminate: () => undefined,
  }
  const limits = {
    buffers: new StreamBuffers({ streamBytesMax: 100, streamBytesMin: 10, totalBytesMax: 1_000 }),
    pingMs: 1e9,
    silentMsMax: 1e9,
  }
  const stream = new StreamSocket(socket, clock, limits)
  const exit = Promise.withResolvers<number>()
  const stdin = new PassThrough({ highWaterMark: 10 })
  const sizes: TerminalSize[] = []
  let hangUps = 0
  const session = {
    stdin,
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    resize: (size: TerminalSize) => void sizes.push(size),
    hangUp: () => void (hangUps += 1),
    exited: exit.promise,
  } satisfies ExecSession
  const served = serveExec(stream, session, clock)
  const type = (frame: object) => stream.handleMessage(Buffer.from(JSON.stringify(frame)), true)
  return {
    clock,
    socket,
    stream,
    sent,
    closed,
    session,
    stdin,
    sizes,
    exit,
    served,
    type,
    hangUps: () => hangUps,
  }
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

test('exec session: the exit frame follows all output', async () => {
  const { sent, closed, session, exit, served } = aSession()
  session.stdout.write('one')
  exit.resolve(7)
  await turn()
  session.stderr.end('err')
  session.stdout.end('two')
  await served
  assert.deepEqual(sent.slice(0, 1), [`{"stdout":{"data":"${base64('one')}"}}`])
  assert.deepEqual(sent.at(-1), '{"exited":true,"result":{"exit_code":7}}')
  assert.equal(sent.filter((frame) => frame.includes('close')).length, 2)
  assert.deepEqual(closed, [[1000, '']])
})

test('exec session: a frame is sent every ten seconds, and a minute of silence ends it', async () => {
  const { clock, sent, closed, type } = aSession()
  clock.advance(30_000)
  assert.deepEqual(sent, ['{}', '{}', '{}'])
  type({})
  clock.advance(60_000)
  assert.deepEqual(closed, [])
  clock.advance(10_000)
  assert.deepEqual(closed, [[1008, 'no frame came for a minute']])
})

test('exec session: a caller that is made to wait is not silent', async () => {
  const { clock, socket, closed, stdin, type } = aSession()
  type({ stdin: { data: base64('x'.repeat(50)) } })
  assert.equal(socket.isPaused, true)
  clock.advance(200_000)
  assert.deepEqual(closed, [])
  stdin.read()
  await turn()
  assert.equal(socket.isPaused, false)
})

test('exec session: a reader that stops makes the command wait', async () => {
  const { socket, sent, session, stream } = aSession()
  socket.bufferedAmount = 1_000
  for (let i = 0; i < 10; i++) session.stdout.write('x')
  await turn()
  assert.equal(sent.length, 1)
  assert.equal(stream.isFull, true)
})

test('exec session: a disconnect hangs up the command', async () => {
  const { stream, served, hangUps } = aSession()
  stream.handleClose(1006, '')
  await served
  assert.equal(hangUps(), 1)
})

test('exec session: sizes that are none are ignored, input after its end too', async () => {
  const { sizes, stdin, closed, type } = aSession()
  type({ tty_size: { height: 40, width: 100 } })
  type({ tty_size: { height: 0, width: 100 } })
  type({ tty_size: { height: 70_000, width: 100 } })
  type({ stdin: { data: base64('a'), close: true } })
  type({ stdin: { data: base64('b') } })
  assert.deepEqual(sizes, [{ rows: 40, columns: 100 }])
  assert.equal(String(stdin.read()), 'a')
  assert.equal(stdin.writableEnded, true)
  assert.deepEqual(closed, [])
})

test('exec session: a flood of frames to a full input adds no listener for each', () => {
  const { stdin, type } = aSession()
  const before = stdin.listenerCount('drain')
  for (let i = 0; i < 50; i++) type({ stdin: { data: base64('x'.repeat(20)) } })
  assert.equal(stdin.listenerCount('drain') - before, 1)
})
