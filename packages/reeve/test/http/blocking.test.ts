import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ParkedQueries, waitMs } from '../../src/http/pipeline/blocking.ts'
import { WaitHandle } from '../../src/http/transport/shutdown.ts'
import { QueryError } from '../../src/http/query.ts'
import { LIMITS } from '../../src/model/index.ts'
import { aNamespace, aStore, turn, write } from '../build/store.ts'

const random = { next: () => 0 }

async function aQuery(minIndex: number, wait?: string) {
  const { store, clock, engine } = await aStore()
  await write(store, [aNamespace('first')]).durable
  const table = store.tables.namespaces
  const hold = new WaitHandle()
  let answered: number | undefined
  const watched = { index: () => table.lastIndex, watch: [{ table: 'namespaces' }] }
  const parked = new ParkedQueries({ store, clock, random })
  const done = parked.waitForIndex('a', { minIndex, wait }, hold, watched).then(({ index }) => {
    answered = index
    return index
  })
  await turn()
  return { store, clock, engine, hold, parked, done, answered: () => answered }
}

test('blocking: without an index the query answers at once', async () => {
  const { answered } = await aQuery(0)
  assert.equal(answered(), 1)
})

test('blocking: an index below the current one answers at once', async () => {
  const { store, clock } = await aStore()
  await write(store, [aNamespace('a')]).durable
  await write(store, [aNamespace('b')]).durable
  const watched = { index: () => store.tables.namespaces.lastIndex, watch: [] }
  const hold = new WaitHandle()
  const parked = new ParkedQueries({ store, clock, random })
  const request = { minIndex: 1, wait: undefined }
  assert.deepEqual(await parked.waitForIndex('a', request, hold, watched), {
    index: 2,
    wokenBy: undefined,
  })
})

test('blocking: the current index waits until a commit of what was read is durable', async () => {
  const { store, engine, answered, done } = await aQuery(1)
  assert.equal(answered(), undefined)
  const held = engine.faultInjector.blockNext()
  write(store, [aNamespace('second')])
  await held.started
  await turn()
  assert.equal(answered(), undefined, 'applied, but not durable')
  held.release()
  await done
  assert.equal(answered(), 2)
})

test('blocking: an index from the future waits for the deadline and answers with the current one', async () => {
  const { clock, answered, done } = await aQuery(99, '10s')
  clock.advance(9_999)
  await turn()
  assert.equal(answered(), undefined)
  clock.advance(1)
  await done
  assert.equal(answered(), 1)
})

test('blocking: as many queries wait as the limit, and one more is answered at once', async () => {
  const { store, clock } = await aStore()
  await write(store, [aNamespace('first')]).durable
  const watched = { index: () => store.tables.namespaces.lastIndex, watch: [] }
  const parked = new ParkedQueries({ store, clock, random })
  for (let query = 1; query < LIMITS.parkedQueriesMax; query += 1) parked.slots.acquire('others')
  const request = { minIndex: 1, wait: undefined }
  assert.ok(parked.shouldBlock(request, watched))
  const hold = new WaitHandle()
  const last = parked.waitForIndex('a', request, hold, watched)
  assert.equal(parked.count, LIMITS.parkedQueriesMax)
  assert.equal(parked.shouldBlock(request, watched), false)
  assert.deepEqual(await parked.waitForIndex('b', request, new WaitHandle(), watched), {
    index: 1,
    wokenBy: undefined,
  })
  hold.cancel()
  await last
})

test('blocking: a caller that has gone leaves nothing behind', async () => {
  const { store, hold, parked, done } = await aQuery(1)
  assert.equal(parked.count, 1)
  hold.cancel()
  await done
  assert.equal(parked.count, 0)
  assert.equal(store.watches.size, 0)
})

const waits: readonly [string | undefined, number][] = [
  [undefined, LIMITS.waitMsDefault],
  ['', LIMITS.waitMsDefault],
  ['0s', LIMITS.waitMsDefault],
  ['-5s', LIMITS.waitMsDefault],
  ['30s', 30_000],
  ['24h', LIMITS.waitMsMax],
]
for (const [wait, ms] of waits)
  test(`blocking: wait=${wait} is ${ms} ms plus at most a sixteenth`, () => {
    assert.equal(waitMs(wait, { next: () => 0 }), ms)
    assert.ok(waitMs(wait, { next: () => 0.999 }) < ms + ms / 16)
  })

test('blocking: a wait that is no duration is refused', () => {
  assert.throws(() => waitMs('10', random), new QueryError('Invalid wait time'))
})
