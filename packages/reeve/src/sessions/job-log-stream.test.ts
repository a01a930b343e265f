import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { NodeStreamRequest, StreamFrame } from '@reeve/contract'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { StreamBuffers, StreamSocket } from '@reeve/kit/stream-socket.ts'
import { refusal, type Refusal } from '../model/index.ts'
import type { NodeGateway } from '../workload/index.ts'
import { JobLogStream } from './job-log-stream.ts'

const SOURCE = {
  key: 'a web stdout',
  allocation: '00000000-0000-4000-8000-000000000001',
  task: 'web',
  type: 'stdout',
  nodeId: 'node-1',
} as const

const UNREACHABLE = refusal('node-unreachable', 'No path to node')
const NO_LOG = refusal('not-on-node', 'No logs available')

/** A node of which the test says what its next stream is, and a reader of the merged log. */
function aFollowedLog(
  options: { readonly follow?: boolean; readonly refusals?: readonly Refusal[] } = {},
) {
  const clock = new SimulatedClock()
  const asked: NodeStreamRequest[] = []
  const refusals: Refusal[] = [...(options.refusals ?? [])]
  const streams: StreamSocket[] = []
  let isOver = false
  const gateway: NodeGateway = {
    request: () => Promise.resolve(err(UNREACHABLE)),
    open: (_, { request }) => {
      asked.push(request)
      const refused = refusals.shift()
      if (refused !== undefined) return Promise.resolve(err(refused))
      const stream = aStream(clock)
      streams.push(stream)
      return Promise.resolve(ok(stream))
    },
  }
  const merge = new JobLogStream({
    gateway,
    clock,
    accessorId: '',
    follow: options.follow ?? true,
    hasPrefix: true,
    from: { offset: 5, origin: 'end' },
    sources: () => [SOURCE],
    isOver: () => isOver,
    watch: () => () => undefined,
  })
  let text = ''
  const ended = new Promise((resolve) => merge.output.once('end', resolve))
  merge.output.on('data', (bytes: Buffer) => (text += bytes.toString()))
  merge.start()
  const pass = async (ms: number): Promise<void> => {
    await setImmediate()
    clock.advance(ms)
    await setImmediate()
  }
  return {
    asked,
    refusals,
    merge,
    ended,
    pass,
    text: () => text,
    latest: () => streams.at(-1) ?? assert.fail('no stream was opened'),
    over: () => (isOver = true),
  }
}

function aStream(clock: SimulatedClock): StreamSocket {
  const nothing = (): void => undefined
  const socket = {
    bufferedAmount: 0,
    send: nothing,
    ping: nothing,
    pause: nothing,
    resume: nothing,
    close: nothing,
    terminate: nothing,
  }
  return new StreamSocket(socket, clock, {
    buffers: new StreamBuffers({ streamBytesMax: 1_000, streamBytesMin: 10, totalBytesMax: 1e6 }),
    pingMs: 1_000_000,
    silentMsMax: 1_000_000,
  })
}

function say(stream: StreamSocket, text: string, place: { file: number; offset: number }): void {
  const frame: StreamFrame = {
    Offset: place.offset,
    Data: Buffer.from(text).toString('base64'),
    File: `alloc/logs/web.stdout.${place.file}`,
  }
  stream.handleMessage(Buffer.from(JSON.stringify(frame)), false)
}

const resumesOf = (asked: readonly NodeStreamRequest[]): unknown[] =>
  asked.map((request) => (request.verb === 'logs' ? request.resume : assert.fail()))

test('job log: a broken stream is resumed at its position, even inside a line', async () => {
  const log = aFollowedLog()
  await log.pass(0)
  say(log.latest(), 'one\ntw', { file: 3, offset: 6 })
  log.latest().handleMessage(Buffer.from('{}'), false)
  log.latest().handleClose(1006, '')
  log.refusals.push(UNREACHABLE, UNREACHABLE)
  await log.pass(250)
  await log.pass(500)
  await log.pass(1_000)
  say(log.latest(), 'o\nthree\n', { file: 4, offset: 8 })
  log.latest().handleClose(1006, '')
  await log.pass(250)
  log.over()
  log.latest().handleClose(1000, '')
  await log.ended
  assert.equal(log.text(), '00000000 web: one\n00000000 web: two\n00000000 web: three\n')
  const six = { file: 3, offset: 6 }
  assert.deepEqual(resumesOf(log.asked), [undefined, six, six, six, { file: 4, offset: 8 }])
})

test('job log: reading stops after the last retry, with a notice in the output', async () => {
  const log = aFollowedLog()
  await log.pass(0)
  say(log.latest(), 'one\n', { file: 0, offset: 4 })
  log.latest().handleClose(1006, '')
  log.refusals.push(...Array.from({ length: 12 }, () => UNREACHABLE))
  for (let tries = 0; tries < 12; tries++) await log.pass(30_000)
  log.over()
  await setImmediate()
  assert.equal(log.asked.length, 13)
  assert.match(
    log.text(),
    /^00000000 web: one\n# 00000000 web stdout: the connection to the node was lost\n$/,
  )
  log.merge.output.destroy()
})

const CONNECTING = refusal('node-connecting', 'the node has not connected yet; try again')

test('job log: a node that reconnects after a restart of the server is awaited', async () => {
  const log = aFollowedLog({ refusals: [CONNECTING, CONNECTING] })
  await log.pass(0)
  await log.pass(250)
  await log.pass(500)
  say(log.latest(), 'one\n', { file: 0, offset: 4 })
  log.over()
  log.latest().handleClose(1000, '')
  await log.ended
  assert.equal(log.text(), '00000000 web: one\n')
})

test('job log: a read without follow does not wait for a reconnecting node', async () => {
  const log = aFollowedLog({ follow: false, refusals: [CONNECTING] })
  await log.ended
  assert.equal(log.text(), '# 00000000 web stdout: the node has not connected yet; try again\n')
})

test('job log: a log that was deleted before a resume counts as ended', async () => {
  const log = aFollowedLog()
  await log.pass(0)
  say(log.latest(), 'one', { file: 0, offset: 3 })
  log.latest().handleClose(1006, '')
  log.refusals.push(NO_LOG)
  log.over()
  await log.pass(250)
  await log.ended
  assert.equal(log.text(), '00000000 web: one\n')
})

test('job log: no stream is resumed after the reader disconnects', async () => {
  const log = aFollowedLog()
  await log.pass(0)
  log.latest().handleClose(1006, '')
  await setImmediate()
  log.merge.output.destroy()
  await log.pass(60_000)
  assert.equal(log.asked.length, 1)
})

test('job log: a read without follow is not resumed', async () => {
  const log = aFollowedLog({ follow: false })
  await log.pass(0)
  log.latest().handleMessage(Buffer.from('one\n'), false)
  log.latest().handleClose(1006, '')
  await log.ended
  assert.match(log.text(), /web: one\n# .* the connection to the node was lost\n$/)
})

const BROKEN = ['no json', '[]x', '{"Data":1}', '{"Data":"","File":2}', '{"Offset":"1"}']
for (const frame of BROKEN) {
  test(`job log: a node that sends ${frame} ends its stream, not the server`, async () => {
    const log = aFollowedLog()
    await log.pass(0)
    log.latest().handleMessage(Buffer.from(frame), false)
    await setImmediate()
    assert.equal(log.latest().isClosed, true)
    log.merge.output.destroy()
  })
}
