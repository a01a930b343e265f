import assert from 'node:assert/strict'
import { test } from 'node:test'
import { turn } from '../../test/build/agent.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { StreamBuffers, StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../model/index.ts'
import { ExecFrameLimits, forwardInput, type FrameBudget } from './exec-session.ts'

function anEnd(clock: SimulatedClock) {
  const sent: string[] = []
  const socket = {
    bufferedAmount: 0,
    isPaused: false,
    done: (): void => undefined,
    send: (data: string | Uint8Array, _options: object, done: () => void) => {
      sent.push(String(data))
      socket.done = done
    },
    ping: () => undefined,
    pause: () => void (socket.isPaused = true),
    resume: () => void (socket.isPaused = false),
    close: () => undefined,
    terminate: () => undefined,
  }
  const buffers = new StreamBuffers({
    streamBytesMax: 100,
    streamBytesMin: 100,
    totalBytesMax: 1e3,
  })
  const stream = new StreamSocket(socket, clock, { buffers, pingMs: 1e9, silentMsMax: 1e9 })
  return { socket, stream, sent }
}

function aSession({
  clock = new SimulatedClock(),
  budget = () => 0,
}: { readonly clock?: SimulatedClock; readonly budget?: FrameBudget } = {}) {
  const client = anEnd(clock)
  const node = anEnd(clock)
  forwardInput(client.stream, node.stream, { clock, budget })
  const receive = (frame: string) => client.stream.handleMessage(Buffer.from(frame), true)
  const nextWindow = async () => {
    clock.advance(LIMITS.execMergeMs)
    await turn()
  }
  return { client, node, receive, nextWindow }
}

const stdin = (text: string, end = {}) =>
  JSON.stringify({ stdin: { data: Buffer.from(text).toString('base64'), ...end } })

test('exec input: a single frame is forwarded at once and unchanged', async () => {
  const { node, receive, nextWindow } = aSession()
  receive('{"stdin":{"data":"YQ=="},  "other":1}')
  assert.deepEqual(node.sent, ['{"stdin":{"data":"YQ=="},  "other":1}'])
  await nextWindow()
  receive('{}')
  assert.equal(node.sent.length, 2)
})

const merged = [
  { name: 'input is concatenated', frames: [stdin('b'), stdin('c')], wanted: stdin('bc') },
  {
    name: 'the end of the input is kept, and nothing after it',
    frames: [stdin('b', { close: true }), stdin('c')],
    wanted: stdin('b', { close: true }),
  },
  {
    name: 'only the latest size of the terminal is kept',
    frames: ['{"tty_size":{"height":1,"width":2}}', '{"tty_size":{"height":3,"width":4}}'],
    wanted: '{"tty_size":{"height":3,"width":4}}',
  },
  {
    name: 'a size that the node would ignore does not replace a valid one',
    frames: ['{"tty_size":{"height":1,"width":2}}', '{"tty_size":{"height":0,"width":4}}'],
    wanted: '{"tty_size":{"height":1,"width":2}}',
  },
  { name: 'heartbeats become one', frames: ['{}', '{}', '{}'], wanted: '{}' },
] as const
for (const { name, frames, wanted } of merged)
  test(`exec input: of frames in quick succession, ${name}`, async () => {
    const { node, receive, nextWindow } = aSession()
    receive('{}')
    for (const frame of frames) receive(frame)
    assert.deepEqual(node.sent, ['{}'])
    await nextWindow()
    assert.deepEqual(node.sent, ['{}', wanted])
  })

test('exec input: ten thousand frames of one byte are two frames for the node', async () => {
  const { node, receive, nextWindow } = aSession()
  for (let i = 0; i < 10_000; i++) receive(stdin('x'))
  await nextWindow()
  assert.deepEqual(node.sent, [stdin('x'), stdin('x'.repeat(9_999))])
})

const invalid = ['no json', '[]', '{"stdin":{"data":"?"}}', '{"stdin":7}']
for (const frame of invalid)
  test(`exec input: the node decides about ${frame}, after all earlier frames`, () => {
    const { node, receive } = aSession()
    receive('{}')
    receive(stdin('a'))
    receive(frame)
    assert.deepEqual(node.sent, ['{}', stdin('a'), frame])
  })

test('exec input: merged input is forwarded when it reaches its limit', () => {
  const { node, receive } = aSession()
  receive('{}')
  receive(stdin('x'.repeat(LIMITS.execMergedBytesMax - 1)))
  assert.equal(node.sent.length, 1)
  receive(stdin('y'))
  assert.equal(node.sent.length, 2)
})

test('exec input: a client that fills the buffer of the node is not read', async () => {
  const { client, node, receive, nextWindow } = aSession()
  node.socket.bufferedAmount = 101
  receive(stdin('a'))
  assert.equal(client.socket.isPaused, true)
  receive(stdin('b'))
  await nextWindow()
  assert.equal(client.socket.isPaused, true)
  assert.equal(node.sent.length, 1, 'what came meanwhile waits')
  node.socket.bufferedAmount = 0
  node.socket.done()
  await turn()
  assert.equal(client.socket.isPaused, false)
  assert.deepEqual(node.sent.slice(1), [stdin('b')])
})

/** As the channel counts: all sessions draw from one bucket. */
function aSharedBudget(clock: SimulatedClock, perSecond: number): FrameBudget {
  return new ExecFrameLimits(clock, perSecond).budgetOf('token')
}

/** The input that has reached the node. */
function received(sent: readonly string[]): string {
  return sent
    .map((frame) => Buffer.from(JSON.parse(frame).stdin?.data ?? '', 'base64').toString())
    .join('')
}

test('exec input: sessions of a token share its budget of frames', async () => {
  const clock = new SimulatedClock()
  const budget = aSharedBudget(clock, 100)
  const sessions = [aSession({ clock, budget }), aSession({ clock, budget })]
  for (let i = 0; i < 100; i++) for (const { receive } of sessions) receive(stdin('x'))
  assert.deepEqual(
    sessions.map(({ client }) => client.socket.isPaused),
    [true, true],
    'beyond the budget nobody is read',
  )
  clock.advance(LIMITS.execMergeMs)
  await turn()
  const reached = () => sessions.map(({ node }) => received(node.sent).length)
  const sum = () => reached().reduce((a, b) => a + b)
  assert.equal(sum(), 100, 'a second of the budget at once')
  for (let ms = 0; ms < 500; ms += LIMITS.execMergeMs) {
    clock.advance(LIMITS.execMergeMs)
    await turn()
  }
  assert.ok(sum() > 140 && sum() <= 151, `${sum()} frames after half a second more`)
  for (let ms = 0; ms < 700; ms += LIMITS.execMergeMs) {
    clock.advance(LIMITS.execMergeMs)
    await turn()
  }
  assert.deepEqual(reached(), [100, 100], 'nothing is lost')
  assert.deepEqual(
    sessions.map(({ client }) => client.socket.isPaused),
    [false, false],
  )
})

test('exec input: frames that wait for the budget stay in order', async () => {
  const clock = new SimulatedClock()
  const { node, receive, nextWindow } = aSession({ clock, budget: aSharedBudget(clock, 2) })
  for (const letter of 'abcdef') receive(stdin(letter))
  for (let i = 0; i < 600; i++) await nextWindow()
  assert.equal(received(node.sent), 'abcdef')
})
