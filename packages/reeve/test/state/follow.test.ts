import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '@reeve/kit/fault.ts'
import { Store, put, remove, type LogEntry } from '../../src/state/index.ts'
import { MemoryDisk, openMemoryEngine } from '../../src/storage/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { namespaceRow } from '../../src/workload/namespaces.ts'

const clock = new SimulatedClock()

test('a store that follows shows what the leader committed, and tells who watches', async () => {
  const { leader, followed } = await twoStores()
  const follower = await followerOf()
  const seen: string[] = []
  follower.observe('namespaces', {
    changed: (before, after) => seen.push(`${before?.Name ?? '-'} ${after?.Name ?? '-'}`),
    reset: () => seen.push('reset'),
  })
  const streamed: number[] = []
  follower.log.subscribe((commits) => streamed.push(...commits.map(({ index }) => index)))
  let isWoken = false
  follower.watches.watch([{ table: 'namespaces', key: 'a' }], () => (isWoken = true))
  await write(leader, 'a')
  await write(leader, 'b')
  await leader.commit({
    by: 'system',
    cause: undefined,
    changes: () => [remove('namespaces', 'a')],
  }).durable
  follower.applyReplicated(await followed(1))
  clock.advance(1)
  assert.deepEqual(seen, ['- a', '- b', 'a -'])
  assert.deepEqual(streamed, [1, 2, 3])
  assert.ok(isWoken)
  assert.equal(follower.index, leader.index)
  assert.equal(follower.durableIndex, leader.durableIndex)
  assert.deepEqual(follower.tables.namespaces.find('b'), leader.tables.namespaces.find('b'))
  assert.equal(follower.tables.namespaces.find('a'), undefined)
  assert.equal(follower.tables.namespaces.lastIndex, 3)
})

test('an observer that unsubscribed receives no more changes; the others still do', async () => {
  const { leader } = await twoStores()
  const seen: string[] = []
  const unsubscribes = ['first', 'second'].map((name) =>
    leader.observe('namespaces', {
      changed: (_before, after) => seen.push(`${name} ${after?.Name ?? '-'}`),
      reset: () => seen.push(`${name} reset`),
    }),
  )
  unsubscribes[0]?.()
  unsubscribes[0]?.()
  await write(leader, 'a')
  leader.abortPending(new Fault('storage-closed', 'closed by the test'))
  assert.deepEqual(seen, ['second a', 'second reset'])
})

test('a store that follows commits nothing, and writes no checkpoint when it closes', async () => {
  const disk = new MemoryDisk()
  const follower = await followerOf(disk)
  assert.throws(
    () => follower.commit({ by: 'system', cause: undefined, changes: () => [anything()] }),
    {
      kind: 'no-leader',
    },
  )
  follower.applyReplicated([await entryOf('a')])
  await follower.close()
  assert.equal(disk.checkpoint.upTo, 0)
})

test('a store that begins to lead goes on where the log ends, and checkpoints the rest', async () => {
  const disk = new MemoryDisk()
  const leader = await Store.open({ engine: openMemoryEngine({ disk }), clock })
  await write(leader, 'a')
  await leader.checkpoint()
  await write(leader, 'b')
  // The same disk: what the old leader wrote is there for the new one.
  const next = await Store.open({ engine: openMemoryEngine({ disk }), clock, isFollower: true })
  await next.startLeading(1)
  await write(next, 'c')
  assert.equal(next.index, 3)
  await next.close()
  const last = await Store.open({ engine: openMemoryEngine({ disk }), clock })
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].filter((name) => last.tables.namespaces.has(name)),
    ['a', 'b', 'c'],
  )
  assert.equal(disk.checkpoint.upTo, 3)
})

test('an entry out of turn is our mistake and is not applied', async () => {
  const follower = await followerOf()
  const entry = await entryOf('a')
  follower.applyReplicated([entry])
  assert.throws(() => follower.applyReplicated([entry]), /entry after entry/)
})

async function twoStores(): Promise<{
  leader: Store
  followed: (from: number) => Promise<LogEntry[]>
}> {
  const engine = openMemoryEngine()
  const leader = await Store.open({ engine, clock })
  const followed = async (from: number): Promise<LogEntry[]> => {
    const entries: LogEntry[] = []
    for await (const entry of engine.read(from)) entries.push(entry)
    return entries
  }
  return { leader, followed }
}

async function followerOf(disk = new MemoryDisk()): Promise<Store> {
  return await Store.open({ engine: openMemoryEngine({ disk }), clock, isFollower: true })
}

async function entryOf(name: string): Promise<LogEntry> {
  const { leader, followed } = await twoStores()
  await write(leader, name)
  const [entry] = await followed(1)
  assert.ok(entry !== undefined)
  return entry
}

async function write(store: Store, name: string): Promise<void> {
  const row = namespaceRow({ Name: name, Description: '' })
  await store.commit({ by: 'system', cause: undefined, changes: () => [put('namespaces', row)] })
    .durable
}

function anything() {
  return put('namespaces', namespaceRow({ Name: 'x', Description: '' }))
}
