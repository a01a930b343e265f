import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pass, SILENT_LOG } from '../../../test/build/agent.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import {
  asCollectable,
  chooseToCollect,
  AllocationGarbageCollector,
  type Collectable,
} from './garbage-collector.ts'

function allocations(count: number, ended: readonly number[]): readonly Collectable[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `a${n}`,
    endedMs: ended.includes(n) ? 1_000 - n : undefined,
  }))
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, n) => n)
}

const ROOM = { diskPercent: 10, inodePercent: 10 }

const cases = [
  { name: 'nothing goes while there is room', all: allocations(50, [1, 2]), fill: ROOM, ids: [] },
  {
    name: 'as many ended ones as the limit stay',
    all: allocations(50, upTo(50)),
    fill: ROOM,
    ids: [],
  },
  {
    name: 'the oldest go when too many have ended',
    all: allocations(52, upTo(52)),
    fill: ROOM,
    ids: ['a51', 'a50'],
  },
  {
    name: 'services that run do not push out what has ended',
    all: allocations(150, upTo(50)),
    fill: ROOM,
    ids: [],
  },
  {
    name: 'a full disk is relieved step by step',
    all: allocations(10, [1, 2, 3]),
    fill: { ...ROOM, diskPercent: 81 },
    ids: ['a3', 'a2'],
  },
  {
    name: 'so are inodes',
    all: allocations(10, [1]),
    fill: { ...ROOM, inodePercent: 71 },
    ids: ['a1'],
  },
  {
    name: 'what is not over always stays',
    all: allocations(99, []),
    fill: { diskPercent: 100, inodePercent: 100 },
    ids: [],
  },
]
for (const { name, all, fill, ids } of cases) {
  test(`garbage: ${name}`, () => assert.deepEqual(chooseToCollect(all, fill), ids))
}

test('gc: configured thresholds replace the defaults', () => {
  const thresholds = {
    intervalMs: 1,
    diskPercent: 50,
    inodePercent: 5,
    allocationsMax: 4,
    parallelDestroys: 1,
  }
  const choose = (count: number, fill = ROOM) =>
    chooseToCollect(allocations(count, upTo(count)), fill, thresholds)
  const empty = { diskPercent: 0, inodePercent: 0 }
  assert.deepEqual(choose(4, empty), [])
  assert.deepEqual(choose(5, empty), ['a4'])
  assert.deepEqual(choose(4, { ...empty, diskPercent: 51 }), ['a3'])
  assert.deepEqual(choose(4), ['a3'])
})

interface Watched {
  readonly left: Set<string>
  readonly collected: string[]
  readonly lines: string[]
  readonly clock: SimulatedClock
  readonly watch: AllocationGarbageCollector
}

/** A node with ended allocations `a0`… of 10 % of the disk each, and what else takes room. */
function aNode(count: number, others: number, stuck: readonly string[] = []): Watched {
  const clock = new SimulatedClock()
  const left = new Set(Array.from({ length: count }, (_, n) => `a${n}`))
  const collected: string[] = []
  const lines: string[] = []
  const tell = (fields: object, text: string): void => {
    lines.push(`${text} ${Object.values(fields).join(' ')}`)
  }
  const watch = new AllocationGarbageCollector({
    clock,
    log: { ...SILENT_LOG, info: tell, warn: tell },
    allocations: () => [...left].map((id) => ({ id, endedMs: Number(id.slice(1)) })),
    diskUsage: () => Promise.resolve({ diskPercent: others + 10 * left.size, inodePercent: 1 }),
    destroy: (id) => {
      if (stuck.includes(id)) return Promise.reject(new Error(`${id} is held`))
      collected.push(id)
      return Promise.resolve(left.delete(id))
    },
  })
  return { left, collected, lines, clock, watch }
}

test('gc: one run frees a full disk and removes no more than needed', async () => {
  const { clock, watch, collected, lines } = aNode(9, 10)
  watch.start()
  await pass(clock, 61_000)
  assert.deepEqual(collected, ['a0', 'a1'])
  assert.deepEqual(lines, [
    'removed an ended allocation a0 100 1',
    'removed an ended allocation a1 100 1',
  ])
  await watch.stop()
  const fuller = aNode(9, 50)
  fuller.watch.start()
  await pass(fuller.clock, 61_000)
  assert.equal(fuller.collected.length, 6)
  await fuller.watch.stop()
})

test('gc: runs soon after new allocations, once for a burst', async () => {
  const { clock, watch, left, collected } = aNode(9, 10)
  watch.start()
  watch.runSoon()
  watch.runSoon()
  await pass(clock, 1_100)
  assert.deepEqual(collected, ['a0', 'a1'])
  left.add('a9').add('a10')
  await pass(clock, 50_000)
  assert.equal(collected.length, 2)
  watch.runSoon()
  await pass(clock, 1_100)
  assert.equal(collected.length, 4)
  await watch.stop()
})

test('gc: a failed removal is logged and retried, and does not block others', async () => {
  const { clock, watch, collected, lines } = aNode(3, 75, ['a0'])
  watch.start()
  await pass(clock, 61_000)
  assert.deepEqual(collected, ['a1', 'a2'])
  const held = 'what an ended allocation left is not removed a0 a0 is held'
  const told = () => lines.filter((line) => line.includes('a0'))
  assert.deepEqual(told(), [held])
  await pass(clock, 60_000)
  assert.deepEqual(told(), [held, held])
  await watch.stop()
})

test('gc: a disk that stays full is logged once', async () => {
  const { clock, watch, lines, left } = aNode(0, 90)
  watch.start()
  await pass(clock, 181_000)
  const full = 'the disk of this node is full, and no ended allocation is left to remove 90 1'
  assert.deepEqual(lines, [full])
  assert.equal(left.size, 0)
  await watch.stop()
})

test('garbage: data that is to move on is kept a while', () => {
  const ended = {
    id: 'a',
    endedMs: 1_000,
    group: { EphemeralDisk: { Sticky: false, Migrate: true } },
  }
  assert.equal(asCollectable(ended, 2_000).endedMs, undefined)
  assert.equal(asCollectable(ended, 1_000 + 10 * 60_000).endedMs, 1_000)
  assert.equal(asCollectable({ ...ended, group: {} }, 2_000).endedMs, 1_000)
})

test('gc: runs every minute until it is stopped', async () => {
  const clock = new SimulatedClock()
  const collected: string[] = []
  const watch = new AllocationGarbageCollector({
    clock,
    log: SILENT_LOG,
    allocations: () => allocations(51, upTo(51)).filter(({ id }) => !collected.includes(id)),
    diskUsage: () => Promise.resolve(ROOM),
    destroy: (id) => Promise.resolve(collected.push(id) > 0),
  })
  watch.start()
  await pass(clock, 61_000)
  assert.deepEqual(collected, ['a50'])
  await watch.stop()
  await pass(clock, 120_000)
  assert.equal(collected.length, 1)
})
