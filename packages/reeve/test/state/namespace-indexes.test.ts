import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  put,
  remove,
  Store,
  type Change,
  type LogEntry,
  type NamespaceScope,
} from '../../src/state/index.ts'
import { MemoryDisk, openMemoryEngine } from '../../src/storage/index.ts'
import { aJob, anAllocation, anId } from '../build/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { aNamespace, aStore } from '../build/store.ts'

const clock = new SimulatedClock()
const EVERY: NamespaceScope = { kind: 'every' }

function one(namespace: string): NamespaceScope {
  return { kind: 'one', namespace }
}

function some(...namespaces: readonly string[]): NamespaceScope {
  return { kind: 'some', covers: (namespace) => namespaces.includes(namespace) }
}

async function commit(store: Store, ...changes: readonly Change[]): Promise<number> {
  const { index, durable } = store.commit({
    by: 'system',
    cause: undefined,
    changes: () => changes,
  })
  await durable
  return index
}

function jobOf(Namespace: string, ID = 'web'): Change {
  return put('jobs', aJob({ ID, Namespace }))
}

function allocationOf(Namespace: string, i: number): Change {
  return put('allocations', anAllocation({ job: aJob({ Namespace }), ID: anId('alloc', i) }))
}

/** Two namespaces, created at index 1. */
async function aWorld() {
  const disk = new MemoryDisk()
  const { store } = await aStore(disk)
  await commit(store, put('namespaces', aNamespace('a')), put('namespaces', aNamespace('b')))
  return { disk, store }
}

function reopen(disk: MemoryDisk): Promise<Store> {
  return Store.open({ engine: openMemoryEngine({ disk }), clock })
}

test('namespace index: a write counts in its own table and namespace alone', async () => {
  const { store } = await aWorld()
  assert.equal(await commit(store, jobOf('a')), 2)
  assert.equal(store.indexIn('jobs', one('a')), 2)
  assert.equal(store.indexIn('jobs', one('b')), 1, 'nothing but its creation')
  assert.equal(store.indexIn('allocations', one('a')), 1)
  assert.equal(store.indexIn('jobs', EVERY), 2)
})

test('namespace index: rows whose key tells no namespace count in the one of their content', async () => {
  const { store } = await aWorld()
  await commit(store, allocationOf('b', 1))
  assert.equal(store.indexIn('allocations', one('a')), 1)
  assert.equal(store.indexIn('allocations', one('b')), 2)
  await commit(store, remove('allocations', anId('alloc', 1)))
  assert.equal(store.indexIn('allocations', one('a')), 1)
  assert.equal(store.indexIn('allocations', one('b')), 3, 'a deletion counts')
})

test('namespace index: a set has the highest of those that it covers', async () => {
  const { store } = await aWorld()
  await commit(store, jobOf('a'))
  await commit(store, jobOf('b'))
  assert.equal(store.indexIn('jobs', some('a')), 2)
  assert.equal(store.indexIn('jobs', some('b')), 3)
  assert.equal(store.indexIn('jobs', some('a', 'b')), 3)
  assert.equal(store.indexIn('jobs', some()), 0)
})

test('namespace index: a set covers namespaces that are created later', async () => {
  const { store } = await aWorld()
  const set = some('a', 'later')
  assert.equal(store.indexIn('jobs', set), 1)
  await commit(store, put('namespaces', aNamespace('later')))
  assert.equal(store.indexIn('jobs', set), 2)
  await commit(store, jobOf('later'))
  assert.equal(store.indexIn('jobs', set), 3)
})

test('namespace index: it does not go back when a namespace goes and comes again', async () => {
  const { store } = await aWorld()
  await commit(store, jobOf('a'))
  await commit(store, remove('jobs', 'a!web'))
  assert.equal(store.indexIn('jobs', one('a')), 3)
  await commit(store, remove('namespaces', 'a'))
  assert.equal(store.indexIn('jobs', one('a')), 4)
  assert.equal(store.indexIn('jobs', some('a')), 4)
  await commit(store, put('namespaces', aNamespace('a')))
  assert.equal(store.indexIn('jobs', one('a')), 5)
  assert.equal(store.indexIn('jobs', one('b')), 1, 'the other one is not concerned')
})

test('namespace index: what is deleted from a namespace after its end counts', async () => {
  const { store } = await aWorld()
  await commit(store, allocationOf('a', 1))
  await commit(store, remove('namespaces', 'a'))
  await commit(store, remove('allocations', anId('alloc', 1)))
  assert.equal(store.indexIn('allocations', one('a')), 4)
  assert.equal(store.indexIn('allocations', one('b')), 1)
})

test('namespace index: nothing is kept of namespaces that do not exist', async () => {
  const { disk, store } = await aWorld()
  await store.checkpoint()
  const before = Object.keys(disk.checkpoint.tableIndexes).length
  for (let i = 0; i < 50; i++) {
    await commit(store, put('namespaces', aNamespace(`n-${i}`)), jobOf(`n-${i}`))
    await commit(store, remove('jobs', `n-${i}!web`), remove('namespaces', `n-${i}`))
  }
  await store.checkpoint()
  assert.equal(Object.keys(disk.checkpoint.tableIndexes).length, before)
})

test('namespace index: a checkpoint without them makes the index of the table the base', async () => {
  const { disk, store } = await aWorld()
  await commit(store, jobOf('a'))
  await commit(store, jobOf('b'))
  await store.checkpoint()
  const tables = Object.entries(disk.checkpoint.tableIndexes)
  const tableIndexes = Object.fromEntries(tables.filter(([name]) => !name.includes('!')))
  disk.checkpoint = { upTo: disk.checkpoint.upTo, tableIndexes }
  const older = await reopen(disk)
  assert.equal(older.indexIn('jobs', one('a')), 3)
  assert.equal(older.indexIn('jobs', one('b')), 3)
  await commit(older, jobOf('b'))
  assert.equal(older.indexIn('jobs', one('a')), 3, 'not written since')
  await older.checkpoint()
  const again = await reopen(disk)
  assert.equal(again.indexIn('jobs', one('a')), 3, 'the base is kept')
})

test('namespace index: a failed write is taken back', async () => {
  const { store, engine } = await aStore()
  await commit(store, put('namespaces', aNamespace('a')))
  await commit(store, jobOf('a'))
  engine.faultInjector.fillDisk()
  const failing = store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [jobOf('a', 'other'), remove('namespaces', 'a')],
  })
  assert.equal(store.indexIn('jobs', one('a')), 3)
  await assert.rejects(failing.durable)
  assert.equal(store.indexIn('jobs', one('a')), 2)
})

const NAMES = ['a', 'b', 'c'] as const
const SCOPES = [EVERY, ...NAMES.map(one), one('never'), some('a'), some('b', 'c'), some(...NAMES)]

function indexesOf(store: Store): readonly number[] {
  return SCOPES.flatMap((scope) => [
    store.indexIn('jobs', scope),
    store.indexIn('allocations', scope),
  ])
}

type Step = readonly [
  kind:
    | 'create'
    | 'end'
    | 'job'
    | 'no job'
    | 'allocation'
    | 'no allocation'
    | 'checkpoint'
    | 'restart',
  namespace: (typeof NAMES)[number],
]

const aStep = fc.tuple(
  fc.constantFrom<Step[0]>(
    ...(['create', 'end', 'job', 'no job', 'allocation', 'no allocation'] as const),
    ...(['checkpoint', 'restart'] as const),
  ),
  fc.constantFrom(...NAMES),
)

function changeOf([kind, name]: Step): Change | undefined {
  const number = NAMES.indexOf(name)
  switch (kind) {
    case 'create':
      return put('namespaces', aNamespace(name))
    case 'end':
      return remove('namespaces', name)
    case 'job':
      return jobOf(name)
    case 'no job':
      return remove('jobs', `${name}!web`)
    case 'allocation':
      return allocationOf(name, number)
    case 'no allocation':
      return remove('allocations', anId('alloc', number))
    default:
      return undefined
  }
}

/** Carries out the steps; the store at the end, and every entry of the log. */
async function carryOut(steps: readonly Step[]): Promise<[Store, LogEntry[]]> {
  const disk = new MemoryDisk()
  let engine = openMemoryEngine({ disk })
  let store = await Store.open({ engine, clock })
  for (const step of steps) {
    const before = indexesOf(store)
    if (step[0] === 'checkpoint') await store.checkpoint()
    if (step[0] === 'restart') {
      engine = openMemoryEngine({ disk })
      store = await Store.open({ engine, clock })
      assert.deepEqual(indexesOf(store), before, 'a restart changes nothing')
    }
    const change = changeOf(step)
    if (change !== undefined) await commit(store, change)
    for (const [at, index] of indexesOf(store).entries())
      assert.ok(index >= (before[at] ?? 0), `${step.join(' ')} takes scope ${at >> 1} back`)
  }
  const entries: LogEntry[] = []
  for await (const entry of engine.read(1)) entries.push(entry)
  return [store, entries]
}

test('namespace index: never goes back, and is the same after a restart and on a follower', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(aStep, { maxLength: 40 }), async (steps) => {
      const [leader, entries] = await carryOut(steps)
      const follower = await Store.open({ engine: openMemoryEngine(), clock, isFollower: true })
      follower.applyReplicated(entries)
      assert.deepEqual(indexesOf(follower), indexesOf(leader))
    }),
    { numRuns: 200 },
  )
})

test('watches: a write wakes who watches its namespace, a set with it, or all of the table', async () => {
  const { store } = await aWorld()
  const woken: string[] = []
  const scopes = { a: one('a'), b: one('b'), 'set a': some('a'), 'set b': some('b'), all: EVERY }
  for (const [name, scope] of Object.entries(scopes))
    store.watches.watch([{ table: 'allocations', scope }], (index) =>
      woken.push(`${name} ${index}`),
    )
  await commit(store, allocationOf('a', 1))
  assert.deepEqual(woken.toSorted(), ['a 2', 'all 2', 'set a 2'])
  await commit(store, remove('allocations', anId('alloc', 1)))
  assert.equal(woken.length, 3, 'each of them once')
  await commit(store, allocationOf('b', 2))
  assert.deepEqual(woken.slice(3).toSorted(), ['b 4', 'set b 4'])
  assert.equal(store.watches.size, 0)
})
