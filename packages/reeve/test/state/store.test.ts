import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '@reeve/kit/fault.ts'
import { put, remove, Store, type LogEntry, type AppendEntry } from '../../src/state/index.ts'
import { MemoryDisk, openMemoryEngine } from '../../src/storage/index.ts'
import { MemoryEngine } from '../../src/storage/memory/memory-engine.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { aNamespace, aStore, turn, write } from '../build/store.ts'

test('store: a commit is seen at once by the next decision and durable later', async () => {
  const { store, engine } = await aStore()
  const held = engine.faultInjector.blockNext()
  const commitment = write(store, [aNamespace('web')])
  assert.equal(store.tables.namespaces.get('web').Name, 'web')
  await held.started
  assert.equal(store.index, 1)
  assert.equal(store.durableIndex, 0)
  held.release()
  await commitment.durable
  assert.equal(store.durableIndex, 1)
})

test('store: the create index stays and the modify index follows the commit', async () => {
  const { store } = await aStore()
  write(store, [aNamespace('web')])
  write(store, [aNamespace('api')])
  await write(store, [aNamespace('web', 'second')]).durable
  const web = store.tables.namespaces.get('web')
  assert.deepEqual([web.CreateIndex, web.ModifyIndex, web.Description], [1, 3, 'second'])
  assert.equal(store.tables.namespaces.lastIndex, 3)
})

test('store: commits of one turn, and those submitted while a write runs, share a write', async () => {
  const { store, engine } = await aStore()
  const batches: number[] = []
  const append = engine.append.bind(engine)
  engine.append = (entries) => {
    batches.push(entries.length)
    return append(entries)
  }
  const held = engine.faultInjector.blockNext()
  for (let i = 0; i < 5; i++) write(store, [aNamespace(`a${i}`)])
  await held.started
  for (let i = 0; i < 7; i++) write(store, [aNamespace(`b${i}`)])
  held.release()
  await store.whenDurable()
  assert.deepEqual(batches, [5, 7])
})

test('store: what is committed until the turn ends shares a write, by whatever promise', async () => {
  const engine = openMemoryEngine()
  const ends: (() => void)[] = []
  const atEndOfTurn = (work: () => void) => void ends.push(work)
  const store = await Store.open({
    engine,
    clock: new SimulatedClock(),
    scheduleFlush: atEndOfTurn,
  })
  const first = write(store, [aNamespace('a')])
  await turn()
  const second = write(store, [aNamespace('b')])
  await turn()
  assert.equal(store.durableIndex, 0)
  assert.equal(ends.length, 1)
  assert.equal(first.durable, second.durable)
  ends[0]?.()
  await second.durable
  assert.equal(store.durableIndex, 2)
})

test('store: watches fire after the commit is durable, only for what it wrote', async () => {
  const { store, engine } = await aStore()
  const woken: string[] = []
  store.watches.watch([{ table: 'namespaces', key: 'web' }], () => woken.push('web'))
  store.watches.watch([{ table: 'namespaces', key: 'api' }], () => woken.push('api'))
  store.watches.watch([{ table: 'namespaces' }], () => woken.push('table'))
  store.watches.watch([{ table: 'jobs' }], () => woken.push('jobs'))
  const held = engine.faultInjector.blockNext()
  const { durable } = write(store, [aNamespace('web')])
  await held.started
  assert.deepEqual(woken, [])
  held.release()
  await durable
  assert.deepEqual(woken, ['web', 'table'])
  await write(store, [aNamespace('web', 'again')]).durable
  assert.deepEqual(woken, ['web', 'table'], 'a watch fires once')
})

test('store: a cancelled watch is never woken', async () => {
  const { store } = await aStore()
  let woken = 0
  const cancel = store.watches.watch([{ table: 'namespaces' }], () => woken++)
  cancel()
  await write(store, [aNamespace('web')]).durable
  assert.equal(woken, 0)
  assert.equal(store.watches.size, 0)
})

test('store: thousands of watches are woken in slices of the event loop', async () => {
  const { store, clock } = await aStore()
  let woken = 0
  for (let i = 0; i < 1000; i++) store.watches.watch([{ table: 'namespaces' }], () => woken++)
  await write(store, [aNamespace('web')]).durable
  assert.ok(woken > 0 && woken < 1000, `${woken} woken at once`)
  clock.advance(1)
  assert.equal(woken, 1000)
})

for (const fault of ['full', 'fenced', 'torn'] as const)
  test(`store: after a ${fault} write memory goes back to what is durable and writes are refused`, async () => {
    const { store, engine } = await aStore()
    await write(store, [aNamespace('kept', 'first')]).durable
    if (fault === 'torn') engine.faultInjector.failNext('none')
    else if (fault === 'full') engine.faultInjector.fillDisk()
    else engine.faultInjector.fenceNext()
    const lost = write(store, [aNamespace('lost'), aNamespace('kept', 'second')])
    const gone = store.commit({
      by: 'system',
      cause: undefined,
      changes: () => [remove('namespaces', 'kept')],
    })
    await assert.rejects(lost.durable, Fault)
    await assert.rejects(gone.durable, Fault)
    assert.equal(store.index, 1)
    assert.equal(store.tables.namespaces.get('kept').Description, 'first')
    assert.equal(store.tables.namespaces.has('lost'), false)
    assert.deepEqual([...store.tables.namespaces.keys()], ['kept'])
    assert.equal(store.tables.namespaces.lastIndex, 1)
    assert.throws(() => write(store, [aNamespace('more')]), Fault)
    await store.whenDurable()
  })

test('store: after a full disk deletes are accepted from the reserve, then everything', async () => {
  const { store, engine, disk } = await aStore()
  await write(store, [aNamespace('kept'), aNamespace('gone')]).durable
  engine.faultInjector.fillDisk()
  await assert.rejects(write(store, [aNamespace('lost')]).durable, { kind: 'storage-full' })
  const again = openMemoryEngine({ disk })
  engine.append = (entries) => again.append(entries)
  store.resume('deletes')
  assert.equal(store.fault, undefined)
  assert.equal(store.restriction?.kind, 'storage-full')
  assert.throws(() => write(store, [aNamespace('more')]), { kind: 'storage-full' })
  const changes = () => [remove('namespaces', 'gone'), put('namespaces', aNamespace('kept', 'new'))]
  const { durable } = store.commit({ by: 'system', cause: undefined, changes })
  // The disk may have room again while a delete is under way.
  store.resume('all')
  await durable
  await write(store, [aNamespace('more')]).durable
  assert.deepEqual([...store.tables.namespaces.keys()], ['kept', 'more'])
  assert.equal(store.index, 3)
})

test('store: a checkpoint that finds the disk full is told at once, after the append that runs', async () => {
  const { store, engine } = await aStore()
  Object.assign(engine, { recover: async () => 'none' })
  engine.checkpoint = async () => {
    throw new Fault('storage-full', 'no room')
  }
  const told: string[] = []
  store.onFault(({ kind }) => void told.push(kind))
  await write(store, [aNamespace('web')]).durable
  const checkpoint = store.checkpoint()
  const held = engine.faultInjector.blockNext()
  const running = write(store, [aNamespace('api')])
  await held.started
  await turn()
  assert.deepEqual(told, [])
  held.release()
  await running.durable
  await assert.rejects(checkpoint, { kind: 'storage-full' })
  assert.deepEqual(told, ['storage-full'])
  assert.deepEqual([...store.tables.namespaces.keys()], ['api', 'web'])
})

const step = fc.record({
  action: fc.constantFrom('put', 'put', 'put', 'remove', 'checkpoint', 'restart'),
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  text: fc.string(),
})

test('store: after any history and any restarts the state is that of the commits, and the index never decreases', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let { store, disk } = await aStore()
      const model = new Map<string, string>()
      let index = 0
      for (const { action, name, text } of steps) {
        if (action === 'put') {
          await write(store, [aNamespace(name, text)]).durable
          model.set(name, text)
          index++
        } else if (action === 'remove') {
          await store.commit({
            by: 'system',
            cause: undefined,
            changes: () => [remove('namespaces', name)],
          }).durable
          model.delete(name)
          index++
        } else if (action === 'checkpoint') await store.checkpoint()
        else ({ store, disk } = await aStore(disk))
        assert.equal(store.index, index)
      }
      ;({ store } = await aStore(disk))
      const found = [...store.tables.namespaces.rows()].map((row) => [row.Name, row.Description])
      assert.deepEqual(
        found,
        [...model].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      )
      assert.equal(store.index, index)
    }),
    { numRuns: 60 },
  )
})

test('store: a table never forgets its last write, even when that was a delete before the checkpoint', async () => {
  const { store, disk } = await aStore()
  write(store, [aNamespace('web')])
  store.commit({ by: 'system', cause: undefined, changes: () => [remove('namespaces', 'web')] })
  await store.close()
  const again = await aStore(disk)
  assert.equal(again.store.tables.namespaces.lastIndex, 2)
})

test('store: rows are frozen in tests, so that nobody changes one in place', async () => {
  const { store } = await aStore()
  await write(store, [{ ...aNamespace('web'), Meta: { team: 'core' } }]).durable
  assert.ok(Object.isFrozen(store.tables.namespaces.get('web').Meta))
})

test('store: blobs are written with their commit and read back as they were', async () => {
  const { store } = await aStore()
  const bytes = Uint8Array.from([0, 255, 10, 13])
  await store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('namespaces', aNamespace('web'))],
    blobs: [{ key: 'code/1', bytes }],
  }).durable
  assert.deepEqual(await store.readBlob('code/1'), bytes)
  assert.equal(await store.readBlob('code/2'), undefined)
})

test('store: the log gives every durable commit in order, from memory and from the engine', async () => {
  const { store, disk } = await aStore()
  for (let i = 1; i <= 20; i++) await write(store, [aNamespace(`n${i}`)]).durable
  const again = await aStore(disk)
  for (let i = 21; i <= 25; i++) await write(again.store, [aNamespace(`n${i}`)]).durable
  const seen: number[] = []
  for await (const commit of again.store.log.read(5)) seen.push(commit.index)
  assert.deepEqual(
    seen,
    Array.from({ length: 21 }, (_, i) => i + 5),
  )
})

/** Counts from where on its log was read. */
class CountedEngine extends MemoryEngine {
  readonly readFrom: number[] = []

  override read(fromIndex: number): AsyncGenerator<LogEntry> {
    this.readFrom.push(fromIndex)
    return super.read(fromIndex)
  }
}

const GROUPS = [
  { what: 'large', commits: 300, inMemory: 600 },
  { what: 'single', commits: 1, inMemory: 64 },
] as const

for (const { what, commits, inMemory } of GROUPS)
  test(`store: the last ${inMemory} commits of ${what} groups are read from memory`, async () => {
    const engine = new CountedEngine(new MemoryDisk())
    const store = await Store.open({ engine, clock: new SimulatedClock() })
    for (let group = 0; group * commits < 4 * inMemory; group++) {
      for (let i = 0; i < commits; i++) write(store, [aNamespace(`n${i}`)])
      await store.whenDurable()
    }
    engine.readFrom.length = 0
    const last = store.durableIndex
    const read = async (from: number): Promise<number> => {
      let count = 0
      for await (const commit of store.log.read(from)) assert.equal(commit.index, from + count++)
      return count
    }
    assert.equal(await read(last - inMemory + 1), inMemory)
    assert.deepEqual(engine.readFrom, [])
    assert.equal(await read(1), last)
    assert.deepEqual(engine.readFrom, [1])
  })

test('store: the log gives nothing that the engine has not confirmed, though it is on the disk', async () => {
  const confirmed = Promise.withResolvers<void>()
  class LateEngine extends MemoryEngine {
    override async append(entries: readonly AppendEntry[]): Promise<void> {
      await super.append(entries)
      await confirmed.promise
    }
  }
  const engine = new LateEngine(new MemoryDisk())
  const store = await Store.open({ engine, clock: new SimulatedClock() })
  const { durable } = write(store, [aNamespace('web')])
  await turn()
  const read = async (): Promise<number[]> => {
    const seen: number[] = []
    for await (const commit of store.log.read(1)) seen.push(commit.index)
    return seen
  }
  assert.equal(engine.disk.lastIndex, 1)
  assert.deepEqual(await read(), [], 'listeners are still to be told of it: it would come twice')
  confirmed.resolve()
  await durable
  assert.deepEqual(await read(), [1])
})
