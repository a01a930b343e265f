import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '@reeve/kit/fault.ts'
import { put, remove, Store, type Change } from '../../src/state/index.ts'
import { MemoryDisk, openMemoryEngine } from '../../src/storage/index.ts'
import { aJob, anAllocation } from '../build/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { aNamespace, write } from '../build/store.ts'

const ROWS_PER_PART = 3
const SLICE_CHARS = 500

/** A store whose checkpoints have small parts, and whose log is applied in small slices. */
async function aPartedStore(disk = new MemoryDisk()) {
  const engine = openMemoryEngine({ disk })
  const options = { rowsPerPart: ROWS_PER_PART, sliceChars: SLICE_CHARS, freezeRows: true }
  const store = await Store.open({ engine, clock: new SimulatedClock(), ...options })
  return { disk, engine, store }
}

/** Everything a reader can see of two tables. */
function contentOf({ tables, index }: Store) {
  const { namespaces, allocations } = tables
  return {
    index,
    rows: [namespaces, allocations].map((table) =>
      [...table.keys()].map((key) => [key, table.createIndexOf(key), table.rowJsonOf(key)]),
    ),
    indexes: [namespaces.lastIndex, allocations.lastIndex],
  }
}

test('checkpoint parts: the mark moves while the checkpoint is written', async () => {
  const { store, engine, disk } = await aPartedStore()
  const marks: number[] = []
  const checkpoint = engine.checkpoint.bind(engine)
  engine.checkpoint = async (rows, mark) => {
    marks.push(mark.upTo)
    await checkpoint(rows, mark)
  }
  for (let i = 0; i < 10; i++) write(store, [aNamespace(`n${i}`)])
  await store.checkpoint()
  assert.deepEqual(marks, [3, 6, 9, 10])
  const again = await aPartedStore(disk)
  assert.deepEqual(contentOf(again.store), contentOf(store))
})

test('checkpoint parts: a checkpoint that failed is written anew from its first row', async () => {
  const { store, engine, disk } = await aPartedStore()
  for (let i = 0; i < 9; i++) write(store, [aNamespace(`n${i}`)])
  failAfter(engine, 1)
  const failed = store.checkpoint()
  // These come while it is written, and must not let the mark pass the rows that were not.
  for (let i = 0; i < 9; i++) write(store, [aNamespace(`m${i}`)])
  await assert.rejects(failed, Fault)
  for (let i = 0; i < 9; i++) write(store, [aNamespace(`k${i}`)])
  failAfter(engine, 1)
  await assert.rejects(store.checkpoint(), Fault)
  const again = await aPartedStore(disk)
  assert.deepEqual(contentOf(again.store), contentOf(store))
})

function failAfter(engine: ReturnType<typeof openMemoryEngine>, calls: number): void {
  const own = Object.getPrototypeOf(engine).checkpoint.bind(engine)
  let left = calls
  engine.checkpoint = async (rows, mark) => {
    if (left-- === 0) {
      const [first] = rows
      throw new Fault('storage-failed', `no room for ${first?.key}`)
    }
    await own(rows, mark)
  }
}

const step = fc.record({
  action: fc.constantFrom('put', 'place', 'place', 'remove', 'unplace', 'crash', 'checkpoint'),
  name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  parts: fc.nat(4),
})

test('checkpoint parts: a crash after any part of any checkpoint loses nothing', async () => {
  const job = aJob({ ID: 'web' })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      let { store, engine, disk } = await aPartedStore()
      const commit = (change: Change): void =>
        void store.commit({ by: 'system', cause: undefined, changes: () => [change] })
      for (const { action, name, parts } of steps) {
        if (action === 'put') commit(put('namespaces', aNamespace(name, String(parts))))
        else if (action === 'remove') commit(remove('namespaces', name))
        else if (action === 'place')
          commit(put('allocations', anAllocation({ job, ID: name, Name: `web.app[${parts}]` })))
        else if (action === 'unplace') commit(remove('allocations', name))
        else if (action === 'checkpoint') await store.checkpoint()
        else {
          failAfter(engine, parts)
          await store.checkpoint().catch(() => undefined)
          const before = contentOf(store)
          ;({ store, engine, disk } = await aPartedStore(disk))
          assert.deepEqual(contentOf(store), before)
        }
      }
      await store.whenDurable()
      const before = contentOf(store)
      assert.deepEqual(contentOf((await aPartedStore(disk)).store), before)
    }),
    { numRuns: 200 },
  )
})

test('checkpoint parts: rows that the log brings back share what they have in common', async () => {
  const { store, disk } = await aPartedStore()
  const job = aJob({ ID: 'web' })
  const rows = ['x', 'y'].map((ID) => anAllocation({ job, ID }))
  const changes = () => rows.map((row) => put('allocations', row))
  await store.commit({ by: 'system', cause: undefined, changes }).durable
  const { allocations } = (await aPartedStore(disk)).store.tables
  const [x, y] = ['x', 'y'].map((key) => allocations.entry(key))
  assert.notEqual(x?.common, '')
  assert.equal(x?.common, y?.common)
  assert.equal(allocations.rowJsonOf('x'), store.tables.allocations.rowJsonOf('x'))
})
