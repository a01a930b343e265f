import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { aServer, type Handler, type LocalServer } from '../../test/local-server.ts'
import { manualTiming } from '../../test/manual-timing.ts'
import { createClient } from '../client.ts'
import { ApiError, ConnectionError } from '../errors.ts'
import { isEventOf, type EventsRequest, type EventStreamLine } from './events.ts'

/** Pauses between attempts run at once; deadlines and the watch over silence never. */
const quick = () => manualTiming((ms) => ms <= 30_000)

function aLine(index: number, ...ids: readonly string[]): EventStreamLine {
  const events = ids.map((ID) => ({ Topic: 'Job', Type: 'JobRegistered', Key: ID, Index: index }))
  // The subset of an event that these tests read.
  return { Index: index, Events: events } as unknown as EventStreamLine
}

/** One script for each connection: what is written, and whether the stream ends or breaks. */
function streaming(...scripts: readonly (readonly (object | string)[])[]): Handler {
  let turn = 0
  return (_request, response) => {
    const script = scripts[Math.min(turn, scripts.length - 1)] ?? []
    turn += 1
    for (const step of script) play(response, step)
  }
}

function play(response: ServerResponse, step: object | string): void {
  if (step === 'end') response.end()
  else if (step === 'break') response.write('{"Ind', () => response.destroy())
  else if (typeof step === 'string') response.writeHead(Number(step)).end('no')
  else response.write(`${JSON.stringify(step)}\n`)
}

async function take(
  server: LocalServer,
  count: number,
  request: EventsRequest = {},
): Promise<EventStreamLine[]> {
  const client = createClient({ address: server.address, timing: quick() })
  const lines: EventStreamLine[] = []
  for await (const line of client.events(request)) if (lines.push(line) === count) break
  return lines
}

function askedIndexes(server: LocalServer): (string | null)[] {
  const queries = server.received.map(({ target }) => new URL(target, server.address).searchParams)
  return queries.map((query) => query.get('index'))
}

test('events come line by line, without heartbeats, until the stream ends', async (t) => {
  const server = await aServer(t, streaming([{}, aLine(3, 'a', 'b'), {}, aLine(4, 'c'), 'end']))
  assert.deepEqual(await take(server, 10), [aLine(3, 'a', 'b'), aLine(4, 'c')])
})

test('heartbeats come too when they are asked for', async (t) => {
  const server = await aServer(t, streaming([{}, aLine(3, 'a'), {}, 'end']))
  assert.deepEqual(await take(server, 10, { heartbeats: true }), [{}, aLine(3, 'a'), {}])
})

test('the request names topics, namespace, region and index', async (t) => {
  const server = await aServer(t, streaming(['end']))
  const topics = ['Job:web/é', 'Node', '*'] as const
  await take(server, 1, { topics, namespace: '*', region: 'north', index: 9 })
  assert.equal(
    server.received[0]?.target,
    '/v1/event/stream?namespace=*&region=north&topic=Job%3Aweb%2F%C3%A9&topic=Node&topic=*&index=9',
  )
})

test('an event of a topic has the payload of that topic', async (t) => {
  const event = { Topic: 'Job', Payload: { Job: { ID: 'web' } } }
  const server = await aServer(t, streaming([{ Index: 1, Events: [event] }, 'end']))
  const [line] = await take(server, 1)
  const jobs = (line?.Events ?? []).filter((one) => isEventOf(one, 'Job'))
  assert.deepEqual(
    jobs.map((one) => one.Payload.Job.ID),
    ['web'],
  )
  assert.ok((line?.Events ?? []).every((one) => !isEventOf(one, 'Node')))
})

test('a character that two chunks share arrives whole', async (t) => {
  const bytes = Buffer.from(`${JSON.stringify(aLine(3, 'é😀'))}\n`)
  const server = await aServer(t, (_request, response) => {
    void (async () => {
      for (const byte of bytes) {
        response.write(Buffer.of(byte))
        await setImmediate()
      }
      response.end()
    })()
  })
  assert.deepEqual(await take(server, 10), [aLine(3, 'é😀')])
})

test('what is lost is told, and the stream goes on after it', async (t) => {
  const gap = { Index: 6, Events: [], Gap: { From: 2, To: 6 } }
  const server = await aServer(t, streaming([{}, gap, 'break'], [{}, aLine(9, 'a')]))
  assert.deepEqual(await take(server, 2, { index: 2, reconnect: true }), [gap, aLine(9, 'a')])
  assert.deepEqual(askedIndexes(server), ['2', '7'])
})

test('why the server ends the stream is told, and where to go on', async (t) => {
  const closed = { Index: 11, Events: [], Closed: 'the reader is too slow' }
  const script = [{}, aLine(3, 'a'), closed, 'end'] as const
  const server = await aServer(t, streaming(script, [{}, aLine(12, 'b')]))
  const lines = await take(server, 3, { reconnect: true })
  assert.deepEqual(lines, [aLine(3, 'a'), closed, aLine(12, 'b')])
  assert.equal(lines[1]?.Closed, 'the reader is too slow')
  assert.deepEqual(askedIndexes(server), ['0', '12'])
})

test('reconnecting goes on after the last index, whatever ended the stream', async (t) => {
  const server = await aServer(
    t,
    streaming(
      [{}, aLine(3, 'a'), 'end'],
      [{}, aLine(5, 'b'), 'break'],
      ['503'],
      [{}, {}, 'end'],
      [{}, aLine(6, 'c')],
    ),
  )
  const lines = await take(server, 3, { reconnect: true })
  assert.deepEqual(lines, [aLine(3, 'a'), aLine(5, 'b'), aLine(6, 'c')])
  assert.deepEqual(askedIndexes(server), ['0', '4', '6', '6', '6'])
})

test('reconnecting is told of, and waits longer while it does not help', async (t) => {
  const server = await aServer(
    t,
    streaming([{}, aLine(3, 'a'), 'end'], [{}, 'end'], [{}, 'break'], [{}, aLine(4, 'b')]),
  )
  const told: unknown[] = []
  const onRetry = (error: Error, delayMs: number) => {
    assert.ok(error instanceof ConnectionError)
    told.push([error.reason, delayMs])
  }
  await take(server, 2, { reconnect: true, onRetry })
  assert.deepEqual(told, [
    ['cut', 188],
    ['cut', 375],
    ['cut', 750],
  ])
})

test('reconnecting gives up when the server refuses', async (t) => {
  const server = await aServer(t, streaming([{}, aLine(3, 'a'), 'end'], ['403']))
  await assert.rejects(take(server, 2, { reconnect: true }), /403 no/)
})

test('the first connection must succeed, so that a mistake is seen', async (t) => {
  const server = await aServer(t, streaming(['503']))
  await assert.rejects(take(server, 1, { reconnect: true }), ApiError)
  assert.equal(server.received.length, 1)
})

test('without reconnecting a broken stream is an error', async (t) => {
  const server = await aServer(t, streaming([{}, aLine(3, 'a'), 'break']))
  await assert.rejects(
    take(server, 5),
    (error) => error instanceof ConnectionError && error.reason === 'cut',
  )
})

const hostile: readonly (readonly [string, string])[] = [
  ['no JSON', '<html>\n'],
  ['no object', '5\n'],
  ['null', 'null\n'],
]
for (const [name, text] of hostile) {
  test(`a line that is ${name} ends the stream for good`, async (t) => {
    const server = await aServer(t, (_request, response) => void response.write(`{}\n${text}`))
    await assert.rejects(
      take(server, 1, { reconnect: true }),
      (error) => error instanceof ConnectionError && error.reason === 'unreadable',
    )
    assert.equal(server.received.length, 1)
  })
}

test('a line whose index is no number does not move the place to go on from', async (t) => {
  const server = await aServer(t, streaming([{ Index: 'x', Events: [1] }, 'end'], [aLine(1, 'a')]))
  await take(server, 2, { reconnect: true, index: 1 })
  assert.deepEqual(askedIndexes(server), ['1', '1'])
})

test('a stream that is silent for too long is taken for lost', async (t) => {
  const server = await aServer(t, streaming([{}, aLine(3, 'a')], [{}, aLine(4, 'b')]))
  let isSilent = false
  const timing = manualTiming((ms) => ms < 1_000 || (isSilent && ms === 90_000))
  const client = createClient({ address: server.address, timing })
  const told: string[] = []
  const onRetry = ({ message }: Error) => {
    isSilent = false
    told.push(message)
  }
  for await (const line of client.events({ reconnect: true, onRetry })) {
    if (line.Index === 4) break
    isSilent = true
  }
  assert.equal(told.length, 1)
  assert.match(told[0] ?? '', /has been silent for 90 s/)
})

test('leaving the loop closes the connection', async (t) => {
  const closed = Promise.withResolvers<void>()
  const server = await aServer(t, (_request, response) => {
    response.on('close', () => closed.resolve())
    play(response, aLine(3, 'a'))
  })
  await take(server, 1)
  await closed.promise
})

test('a signal ends the stream with its reason', async (t) => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const server = await aServer(t, streaming([aLine(3, 'a')]))
  const client = createClient({ address: server.address })
  const lines: unknown[] = []
  await assert.rejects(async () => {
    for await (const line of client.events({ signal: controller.signal, reconnect: true })) {
      lines.push(line)
      controller.abort(reason)
    }
  }, reason)
  assert.equal(lines.length, 1)
})
