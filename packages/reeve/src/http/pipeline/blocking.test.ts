import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MANAGEMENT_GRANTS, type Caller } from '../../acl/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { LIMITS, refusal } from '../../model/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { json, type HttpResponse } from '../response.ts'
import { SharedResponses, type ReadResult, type WokenRead } from './blocking.ts'

function aCaller(accessorId = 'accessor'): Caller {
  const grants = MANAGEMENT_GRANTS
  return { grants, accessorId, name: '', type: 'client', expiresMs: undefined }
}

function bytes(length: number): HttpResponse {
  return { body: { kind: 'json-bytes', bytes: Buffer.alloc(length) } }
}

const CALLER = aCaller()
const READ: WokenRead = { caller: CALLER, secret: 's', url: '/v1/jobs?index=4', wokenBy: 5 }

/** Reads that compute what is given, and count how often they do. */
function aWorld(response: ReadResult['response'] = ok(bytes(10))) {
  const clock = new SimulatedClock()
  const responses = new SharedResponses(clock)
  let computed = 0
  const read = (fields: Partial<WokenRead> = {}, stateIndex = 5): Promise<ReadResult> =>
    responses.read({ ...READ, ...fields }, stateIndex, async () => {
      computed++
      return { index: stateIndex, response }
    })
  return { clock, responses, read, computed: () => computed }
}

test('shared responses: identical queries that one commit woke are computed once', async () => {
  const { read, computed } = aWorld()
  const results = await Promise.all(Array.from({ length: 100 }, () => read()))
  assert.equal(computed(), 1)
  for (const result of results) assert.equal(result, results[0])
})

test('shared responses: a refusal is shared as well', async () => {
  const { read, computed } = aWorld(err(refusal('job-not-found', 'job not found')))
  await Promise.all([read(), read()])
  assert.equal(computed(), 1)
})

const OTHERS: readonly (readonly [string, Partial<WokenRead>])[] = [
  ['another caller', { caller: aCaller('other') }],
  ['the same token after its rights have changed', { caller: aCaller() }],
  ['another secret', { secret: 'other' }],
  ['no secret', { secret: undefined }],
  ['another URL', { url: '/v1/jobs?index=3' }],
  ['a query that a later commit has woken', { wokenBy: 6 }],
]

for (const [name, fields] of OTHERS)
  test(`shared responses: ${name} has a result of its own`, async () => {
    const { read, computed } = aWorld()
    const first = await read()
    assert.notEqual(await read(fields, 6), first)
    assert.equal(computed(), 2)
  })

test('shared responses: a query that an earlier commit woke may share a later result', async () => {
  const { read, computed } = aWorld()
  const first = await read({ wokenBy: 6 }, 6)
  assert.equal(await read({ wokenBy: 5 }, 7), first)
  assert.equal(computed(), 1)
})

test('shared responses: a failure reaches the queries that share it, no later ones', async () => {
  const { responses, read, computed } = aWorld()
  const failing = () =>
    responses.read(READ, 5, async () => {
      throw new Error('broken')
    })
  await assert.rejects(Promise.all([failing(), failing()]), /broken/)
  await read()
  assert.equal(computed(), 1)
})

test('shared responses: they expire', async () => {
  const { clock, responses, read } = aWorld()
  await read()
  clock.advance(LIMITS.sharedResponseMs - 1)
  assert.equal(responses.size, 1)
  clock.advance(1)
  assert.equal(responses.size, 0)
})

test('shared responses: beyond the limit the oldest is evicted', async () => {
  const { responses, read, computed } = aWorld()
  for (let i = 0; i < LIMITS.sharedResponsesMax; i++) await read({ url: `/${i}` })
  assert.equal(responses.size, LIMITS.sharedResponsesMax)
  await read({ url: '/one-more' })
  assert.equal(responses.size, LIMITS.sharedResponsesMax)
  const before = computed()
  await read({ url: '/1' })
  assert.equal(computed(), before, 'the second one is there')
  await read({ url: '/0' })
  assert.equal(computed(), before + 1, 'the first one has gone')
})

test('shared responses: their bytes are bounded', async () => {
  const { responses, read } = aWorld(ok(bytes(LIMITS.sharedResponseBytesMax / 2)))
  for (const url of ['/1', '/2']) await read({ url })
  assert.equal(responses.size, 2)
  await read({ url: '/3' })
  assert.equal(responses.size, 2)
})

test('shared responses: a streamed result is shared but not kept', async () => {
  const { responses, read, computed } = aWorld(ok(json([])))
  await Promise.all([read(), read()])
  assert.equal(computed(), 1)
  assert.equal(responses.size, 0)
})
