import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aServer, inTurn, type AnAnswer, type LocalServer } from '../test/local-server.ts'
import { manualTiming } from '../test/manual-timing.ts'
import { createClient } from './client.ts'
import { ApiError } from './errors.ts'

/** Pauses run at once, deadlines never. */
const quick = () => manualTiming((ms) => ms <= 30_000)

function at(index: number, ...ids: readonly string[]): AnAnswer {
  return { headers: { 'X-Service-Index': String(index) }, body: ids.map((ID) => ({ ID })) }
}

/** The ids of the first answers that the loop gives. */
async function firstOf(server: LocalServer, count: number, index?: number): Promise<string[]> {
  const client = createClient({ address: server.address, timing: quick() })
  const seen: string[] = []
  for await (const { data } of client.blocking('listJobs', { query: { index } })) {
    seen.push(data.map(({ ID }) => ID).join())
    if (seen.length === count) break
  }
  return seen
}

function askedIndexes(server: LocalServer): (string | null)[] {
  const queries = server.received.map(({ target }) => new URL(target, server.address).searchParams)
  return queries.map((query) => query.get('index'))
}

const loops: readonly {
  readonly name: string
  readonly index?: number
  readonly answers: readonly AnAnswer[]
  readonly seen: readonly string[]
  readonly asked: readonly string[]
}[] = [
  {
    name: 'asks with the index of the answer before',
    answers: [at(5, 'a'), at(8, 'a', 'b'), at(9, 'b')],
    seen: ['a', 'a,b', 'b'],
    asked: ['0', '5', '8'],
  },
  {
    name: 'gives no answer when the wait is over and nothing has changed',
    answers: [at(5, 'a'), at(5, 'a'), at(5, 'a'), at(6, 'b')],
    seen: ['a', 'b'],
    asked: ['0', '5', '5', '5'],
  },
  {
    name: 'begins anew when the index goes back',
    answers: [at(500, 'old'), at(3, 'restored'), at(3, 'restored'), at(4, 'next')],
    seen: ['old', 'restored', 'next'],
    asked: ['0', '500', '0', '3'],
  },
  {
    name: 'begins anew when the restored state has the same index by then',
    answers: [at(5, 'old'), at(3, 'x'), at(5, 'restored')],
    seen: ['old', 'restored'],
    asked: ['0', '5', '0'],
  },
  {
    name: 'goes on from an index that the caller knows',
    index: 7,
    answers: [at(7, 'known'), at(8, 'new')],
    seen: ['new'],
    asked: ['7', '7'],
  },
  {
    name: 'waits and asks again after a failure that may pass',
    answers: [at(5, 'a'), { status: 503 }, { status: 500 }, { status: 429 }, at(6, 'b')],
    seen: ['a', 'b'],
    asked: ['0', '5', '5', '5', '5'],
  },
  {
    name: 'polls a read that has no index',
    answers: [{ body: [{ ID: 'a' }] }, at(0, 'b'), at(0, 'b')],
    seen: ['a', 'b', 'b'],
    asked: ['0', '0', '0'],
  },
]
for (const { name, index, answers, seen, asked } of loops) {
  test(`blocking ${name}`, async (t) => {
    const server = await aServer(t, inTurn(...answers))
    assert.deepEqual(await firstOf(server, seen.length, index), seen)
    assert.deepEqual(askedIndexes(server), asked)
  })
}

test('blocking does not hammer a server that gives no index', async (t) => {
  const server = await aServer(t, inTurn({ body: [] }))
  const timing = quick()
  const client = createClient({ address: server.address, timing, timeoutMs: 0 })
  let count = 0
  for await (const _ of client.blocking('listJobs')) if (++count === 3) break
  assert.deepEqual(timing.delays, [5_000, 5_000])
})

const waits: readonly (readonly [string | undefined, string])[] = [
  [undefined, '240000ms'],
  ['30s', '30000ms'],
  ['10m', '240000ms'],
]
for (const [wait, asked] of waits) {
  test(`blocking with wait ${wait} asks for ${asked}, which the platform endures`, async (t) => {
    const server = await aServer(t, inTurn(at(5)))
    const client = createClient({ address: server.address })
    for await (const _ of client.blocking('listJobs', { query: { wait, prefix: 'web' } })) break
    assert.equal(server.received[0]?.target, `/v1/jobs?wait=${asked}&prefix=web&index=0`)
  })
}

for (const status of [403, 404, 503]) {
  test(`blocking throws ${status} when it is the first answer`, async (t) => {
    const server = await aServer(t, inTurn({ status, body: 'no' }))
    await assert.rejects(
      firstOf(server, 1),
      (error) => error instanceof ApiError && error.status === status,
    )
    assert.equal(server.received.length, 1)
  })
}

test('blocking throws a refusal whenever it comes', async (t) => {
  const server = await aServer(t, inTurn(at(5, 'a'), { status: 403, body: 'Permission denied' }))
  await assert.rejects(firstOf(server, 2), /403 Permission denied/)
})

test('blocking tells of failures that it waits for', async (t) => {
  const server = await aServer(
    t,
    inTurn(at(5, 'a'), { status: 503, body: 'No leader' }, at(6, 'b')),
  )
  const told: string[] = []
  const onRetry = (error: Error, delayMs: number) => told.push(`${error.message}, ${delayMs} ms`)
  const client = createClient({ address: server.address, timing: quick() })
  let count = 0
  for await (const _ of client.blocking('listJobs', { onRetry })) if (++count === 2) break
  assert.deepEqual(told, ['GET /v1/jobs: 503 No leader, 188 ms'])
})

test('blocking ends with the reason of the signal, also while the answer is held', async (t) => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const server = await aServer(t, (request, response) => {
    if (request.target.includes('index=0')) inTurn(at(5, 'a'))(request, response)
    else controller.abort(reason)
  })
  const client = createClient({ address: server.address })
  const seen: unknown[] = []
  await assert.rejects(async () => {
    const { signal } = controller
    for await (const { index } of client.blocking('listJobs', { signal })) seen.push(index)
  }, reason)
  assert.deepEqual(seen, [5])
})
