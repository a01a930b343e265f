import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { EventLine, NodePool } from '@reeve/contract'
import { put, type Store } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { EventBroker, type Subscription } from '../../src/sessions/index.ts'
import { LIMITS } from '../../src/model/index.ts'
import { aStore, turn } from '../build/store.ts'

function aPool(name: string): NodePool {
  return {
    Name: name,
    Description: '',
    Meta: null,
    SchedulerConfiguration: null,
    Hash: '',
    CreateIndex: 0,
    ModifyIndex: 0,
  }
}

function emit(store: Store, name: string) {
  return store.commit({
    by: 'system',
    cause: 'NodePoolUpserted',
    changes: () => [put('node_pools', aPool(name))],
  })
}

/** A reader that remembers its lines and takes nothing off its backlog unless told. */
function aReader(options: Partial<Omit<Subscription, 'sink'>> = {}) {
  const lines: EventLine[] = []
  const reader = { lines, backlog: 0, ended: false }
  const take = (text: string): void => {
    for (const line of text.split('\n').filter((one) => one !== '')) lines.push(JSON.parse(line))
  }
  const subscription: Subscription = {
    groupKey: 'all',
    matches: () => true,
    recheckAccess: () => undefined,
    expiresMs: undefined,
    yieldToEventLoop: () => setImmediate(),
    ...options,
    sink: {
      write: take,
      backlogBytes: () => reader.backlog,
      whenDrained: () => Promise.resolve(),
      end(lastLine) {
        take(lastLine)
        reader.ended = true
      },
    },
  }
  const keys = () => lines.flatMap((line) => line.Events ?? []).map((event) => event.Key)
  return Object.assign(reader, { subscription, keys })
}

async function aHub(disk = new MemoryDisk()) {
  const made = await aStore(disk)
  return { ...made, hub: new EventBroker(made.store.log, made.clock, made.store.durableIndex) }
}

test('events: the backlog comes first, then what happens, each commit once and in order', async () => {
  const { store, clock, hub } = await aHub()
  for (const name of ['a', 'b', 'c']) await emit(store, name).durable
  const reader = aReader()
  hub.open(reader.subscription, 0)
  await turn()
  assert.deepEqual(reader.keys(), ['a', 'b', 'c'])
  await emit(store, 'd').durable
  clock.advance(5)
  assert.deepEqual(reader.keys(), ['a', 'b', 'c', 'd'])
  assert.deepEqual(
    reader.lines.filter((line) => line.Events !== undefined).map((line) => line.Index),
    [1, 2, 3, 4],
  )
})

for (const { readers, gatherMs } of [
  { readers: 1, gatherMs: 1 },
  { readers: 100, gatherMs: 1 },
  { readers: 250, gatherMs: 3 },
])
  test(`events: the first goes out at once, ${readers} readers wait ${gatherMs} ms`, async () => {
    const { store, clock, hub } = await aHub()
    const all = Array.from({ length: readers }, () => aReader())
    for (const { subscription } of all) hub.open(subscription, 0)
    await turn()
    const areTold = (keys: readonly string[]): void => {
      for (const reader of all) assert.deepEqual(reader.keys(), keys)
    }
    await emit(store, 'a').durable
    areTold(['a'])
    await emit(store, 'b').durable
    await emit(store, 'c').durable
    clock.advance(gatherMs - 1)
    areTold(['a'])
    clock.advance(1)
    areTold(['a', 'b', 'c'])
    clock.advance(gatherMs)
    await emit(store, 'd').durable
    areTold(['a', 'b', 'c', 'd'])
  })

test('events: a heartbeat comes at once and then every 30 seconds', async () => {
  const { clock, hub } = await aHub()
  const reader = aReader()
  hub.open(reader.subscription, 0)
  assert.deepEqual(reader.lines, [{}])
  clock.advance(60_000)
  assert.deepEqual(reader.lines, [{}, {}, {}])
})

test('events: index n begins with commit n, also after a restart', async () => {
  const { store, disk } = await aHub()
  for (const name of ['a', 'b', 'c', 'd']) await emit(store, name).durable
  const { hub } = await aHub(disk)
  const reader = aReader()
  hub.open(reader.subscription, 3)
  await turn()
  assert.deepEqual(reader.keys(), ['c', 'd'])
})

test('events: an index in the future sends nothing older than that', async () => {
  const { store, clock, hub } = await aHub()
  await emit(store, 'a').durable
  const reader = aReader()
  hub.open(reader.subscription, 3)
  await turn()
  await emit(store, 'b').durable
  await emit(store, 'c').durable
  clock.advance(5)
  assert.deepEqual(reader.keys(), ['c'])
})

test('events: what is no longer kept is announced as a gap', async () => {
  const { store, hub } = await aHub()
  for (const name of ['a', 'b', 'c', 'd']) await emit(store, name).durable
  await store.checkpoint()
  await store.log.trim(3)
  const reader = aReader()
  hub.open(reader.subscription, 1)
  await turn()
  assert.deepEqual(reader.lines.at(1), { Index: 2, Events: [], Gap: { From: 1, To: 2 } })
})

test('events: a commit without a wanted event gives no line', async () => {
  const { store, clock, hub } = await aHub()
  const reader = aReader({ groupKey: 'b', matches: (event) => event.Key === 'b' })
  hub.open(reader.subscription, 0)
  await turn()
  for (const name of ['a', 'b', 'c']) await emit(store, name).durable
  clock.advance(5)
  assert.deepEqual(reader.keys(), ['b'])
})

test('events: commits that come while a reader works through its backlog are neither lost nor doubled', async () => {
  const { store, clock, hub } = await aHub()
  for (let i = 0; i < 30; i++) await emit(store, `old${i}`).durable
  const reader = aReader()
  hub.open(reader.subscription, 0)
  for (let i = 0; i < 30; i++) await emit(store, `new${i}`).durable
  await turn()
  clock.advance(5)
  const indexes = reader.lines.flatMap((line) => (line.Events === undefined ? [] : [line.Index]))
  assert.deepEqual(
    indexes,
    Array.from({ length: 60 }, (_, i) => i + 1),
  )
})

test('events: a reader that lags too far is disconnected with the index to resume from', async () => {
  const { store, clock, hub } = await aHub()
  const reader = aReader()
  hub.open(reader.subscription, 0)
  await turn()
  reader.backlog = LIMITS.streamBacklogBytesMax + 1
  await emit(store, 'a').durable
  clock.advance(5)
  assert.equal(reader.ended, true)
  assert.deepEqual(reader.lines.at(-1), {
    Index: 1,
    Events: [],
    Closed: 'the reader is too slow; resume at Index + 1',
  })
  assert.equal(hub.readers, 0)
})

test('events: a reader that resumes at Index + 1 misses and repeats nothing', async () => {
  const { store, clock, hub } = await aHub()
  const seen: number[] = []
  let next = 1
  for (let ends = 0; ends < 3; ends++) {
    const reader = aReader()
    hub.open(reader.subscription, next)
    await turn()
    await emit(store, `a-${ends}`).durable
    await emit(store, `b-${ends}`).durable
    clock.advance(5)
    reader.backlog = LIMITS.streamBacklogBytesMax + 1
    await emit(store, `c-${ends}`).durable
    clock.advance(5)
    assert.equal(reader.ended, true)
    for (const { Index = 0, Events = [] } of reader.lines) {
      if (Events.length > 0) seen.push(Index)
      next = Math.max(next, Index + 1)
    }
  }
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('events: a stream ends when its token expires', async () => {
  const { clock, hub } = await aHub()
  const reader = aReader({ expiresMs: clock.nowMs() + 1_000 })
  hub.open(reader.subscription, 0)
  clock.advance(999)
  assert.equal(reader.ended, false)
  clock.advance(1)
  assert.equal(reader.ended, true)
})

test('events: rights are asked again when an ACL row changes, and a refusal ends the stream', async () => {
  const { store, hub } = await aHub()
  const rights: { reason?: string } = {}
  const reader = aReader({ recheckAccess: () => rights.reason })
  hub.open(reader.subscription, 0)
  await turn()
  rights.reason = 'no longer allowed'
  await emit(store, 'a').durable
  assert.equal(reader.ended, false, 'a node pool is none of them')
  await store.commit({
    by: 'system',
    cause: 'ACLPolicyUpserted',
    changes: () => [
      put('acl_policies', {
        Name: 'p',
        Description: '',
        Rules: '',
        JobACL: null,
        Hash: '',
        CreateIndex: 0,
        ModifyIndex: 0,
      }),
    ],
  }).durable
  assert.equal(reader.ended, true)
})

test('events: closing the hub ends every stream with a reason', async () => {
  const { hub } = await aHub()
  const readers = [aReader(), aReader()]
  for (const reader of readers) hub.open(reader.subscription, 0)
  hub.close()
  for (const reader of readers)
    assert.equal(reader.lines.at(-1)?.Closed, 'the server is shutting down')
})

test('events: a stream that is opened after the hub was closed ends at once', async () => {
  const { hub } = await aHub()
  hub.close()
  const reader = aReader()
  hub.open(reader.subscription, 0)
  assert.equal(reader.lines.at(-1)?.Closed, 'the server is shutting down')
  assert.equal(hub.readers, 0)
})
