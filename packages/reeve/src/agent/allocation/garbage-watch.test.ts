import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pass, SILENT_LOG } from '../../../test/build/agent.ts'
import { SimulatedClock } from '../../../test/build/simulated-clock.ts'
import { chooseGarbage, GarbageWatch, type Collectable } from './garbage-watch.ts'

function allocations(count: number, ended: readonly number[]): readonly Collectable[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `a${n}`,
    endedMs: ended.includes(n) ? 1_000 - n : undefined,
  }))
}

const ROOM = { diskPercent: 10, inodePercent: 10 }

const cases = [
  { name: 'nothing goes while there is room', all: allocations(50, [1, 2]), fill: ROOM, ids: [] },
  {
    name: 'the oldest go when there are too many',
    all: allocations(52, [1, 2, 3]),
    fill: ROOM,
    ids: ['a3', 'a2'],
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
  test(`garbage: ${name}`, () => assert.deepEqual(chooseGarbage(all, fill), ids))
}

test('garbage: what the operator says counts instead', () => {
  const thresholds = { lookMs: 1, diskPercent: 50, inodePercent: 5, allocations: 4, atOnce: 1 }
  const choose = (count: number, fill = ROOM) =>
    chooseGarbage(allocations(count, [1, 2]), fill, thresholds)
  const empty = { diskPercent: 0, inodePercent: 0 }
  assert.deepEqual(choose(4, empty), [])
  assert.deepEqual(choose(5, empty), ['a2'])
  assert.deepEqual(choose(4, { ...empty, diskPercent: 51 }), ['a2'])
  assert.deepEqual(choose(4), ['a2'])
})

test('the node looks every minute, until it stops', async () => {
  const clock = new SimulatedClock()
  const collected: string[] = []
  const watch = new GarbageWatch({
    clock,
    log: SILENT_LOG,
    allocations: () => allocations(51, [7]),
    fill: () => Promise.resolve(ROOM),
    collect: (id) => Promise.resolve(collected.push(id)),
  })
  watch.start()
  await pass(clock, 61_000)
  assert.deepEqual(collected, ['a7'])
  await watch.stop()
  await pass(clock, 120_000)
  assert.equal(collected.length, 1)
})
