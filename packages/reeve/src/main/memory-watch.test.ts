import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import type { MemoryUsage } from '@reeve/kit/memory-pressure.ts'
import { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import { collectAfterStart, MemoryMonitor } from './memory-watch.ts'

function aWatch() {
  const clock = new SimulatedClock()
  const capacity = new StateCapacity()
  const lines: string[] = []
  const note =
    (level: string) =>
    (_fields: object, message: string): void =>
      void lines.push(`${level} ${message.split(/[;:]/)[0] ?? ''}`)
  const log = { info: note('info'), warn: note('warn'), error: note('error') }
  let use: MemoryUsage = {
    heapUsed: 0,
    heapLive: 0,
    heapLimit: 1_000,
    outsideHeap: 0,
    memoryMax: 10_000,
  }
  let collections = 0
  const collect = (): void => void collections++
  let marks = 0
  const mark = (): void => void marks++
  const watch = new MemoryMonitor({ clock, log, capacity, read: () => use, collect, mark })
  return {
    clock,
    capacity,
    lines,
    collections: () => collections,
    marks: () => marks,
    look: (fields: Partial<MemoryUsage>): void => {
      use = { ...use, ...fields }
      watch.check()
    },
  }
}

test('memory watch: it warns at 80 %, and lets nothing grow from 90 % on', () => {
  const { lines, capacity, look } = aWatch()
  look({ heapUsed: 790, heapLive: 790 })
  assert.equal(capacity.warning, undefined)
  for (const heap of [800, 850, 890]) look({ heapUsed: heap, heapLive: heap })
  assert.equal(capacity.shortage, undefined)
  assert.match(capacity.warning ?? '', /^memory runs short: 80 % of the server's memory are used; /)
  look({ heapUsed: 900, heapLive: 900 })
  assert.equal(capacity.warning, capacity.shortage)
  assert.match(capacity.shortage ?? '', /^90 % of the server's memory are used; delete .* gc/)
  look({ heapUsed: 860, heapLive: 860 })
  assert.notEqual(capacity.shortage, undefined)
  look({ heapUsed: 500, heapLive: 500 })
  assert.equal(capacity.shortage, undefined)
  assert.equal(capacity.warning, undefined)
  assert.deepEqual(lines, [
    'warn memory runs short',
    'error nothing that adds to the state is accepted',
    'info there is enough memory again',
  ])
})

test('memory watch: garbage is collected before it counts, and not too often', () => {
  const { capacity, clock, collections, look } = aWatch()
  look({ heapUsed: 950, heapLive: 400 })
  look({ heapUsed: 955 })
  assert.equal(collections(), 1)
  assert.equal(capacity.shortage, undefined)
  look({ heapUsed: 975 })
  assert.notEqual(capacity.shortage, undefined)
  clock.advance(30_000)
  look({ heapUsed: 975 })
  assert.equal(collections(), 2)
  look({ heapUsed: 420, heapLive: 420 })
  assert.equal(capacity.shortage, undefined)
})

const MEGABYTE = 1024 * 1024
const AMPLE = { heapLimit: 10_000 * MEGABYTE, memoryMax: 10_000 * MEGABYTE }

for (const { name, heapMB, grownMB, wanted } of [
  { name: 'as much as it may', heapMB: 100, grownMB: 32, wanted: 0 },
  { name: 'more', heapMB: 100, grownMB: 33, wanted: 1 },
  { name: 'a tenth of a large heap', heapMB: 2_000, grownMB: 200, wanted: 0 },
  { name: 'more than a tenth of a large heap', heapMB: 2_000, grownMB: 201, wanted: 1 },
])
  test(`memory watch: the heap is marked when memory outside of it grew: ${name}`, () => {
    const { look, marks } = aWatch()
    const heap = heapMB * MEGABYTE
    look({ ...AMPLE, heapUsed: heap, heapLive: heap, outsideHeap: 50 * MEGABYTE })
    look({ outsideHeap: (50 + grownMB) * MEGABYTE })
    assert.equal(marks(), wanted)
  })

test('memory watch: the heap is marked again until the memory is back, or is known to be in use', () => {
  const { clock, look, marks } = aWatch()
  look({ ...AMPLE, outsideHeap: 50 * MEGABYTE })
  for (let at = 0; at < 100; at++) {
    look({ outsideHeap: 150 * MEGABYTE })
    clock.advance(250)
  }
  assert.equal(marks(), 4)
  look({ outsideHeap: 190 * MEGABYTE })
  assert.equal(marks(), 5)
  look({ outsideHeap: 50 * MEGABYTE })
  clock.advance(3_000)
  look({ outsideHeap: 60 * MEGABYTE })
  assert.equal(marks(), 5)
})

test('memory watch: the heap is marked after large requests, however long they took', () => {
  const { clock, look, marks } = aWatch()
  look({ ...AMPLE, outsideHeap: 50 * MEGABYTE })
  for (let at = 0; at < 20; at++) {
    look({ outsideHeap: (at % 2 === 0 ? 300 : 400) * MEGABYTE })
    clock.advance(3_000)
  }
  const during = marks()
  look({ outsideHeap: 150 * MEGABYTE })
  assert.equal(marks(), during + 1)
})

test('memory watch: a small heap is marked when garbage may be half as much as what is live', () => {
  const { look, marks, clock } = aWatch()
  const [live, outsideHeap] = [40 * MEGABYTE, 50 * MEGABYTE]
  look({ ...AMPLE, outsideHeap, heapUsed: live, heapLive: live })
  look({ heapUsed: live + 32 * MEGABYTE })
  assert.equal(marks(), 0)
  look({ heapUsed: live + 33 * MEGABYTE })
  assert.equal(marks(), 1)
  // The collection found that most of it is in use: it is the level from now on.
  clock.advance(3_000)
  look({ heapUsed: 80 * MEGABYTE, heapLive: 80 * MEGABYTE })
  look({ heapUsed: 119 * MEGABYTE })
  assert.equal(marks(), 1)
  look({ heapUsed: 121 * MEGABYTE })
  assert.equal(marks(), 2)
})

test('memory watch: a state that grows is marked seldom', () => {
  const { look, marks, clock } = aWatch()
  let [live, seen] = [100 * MEGABYTE, 0]
  for (let used = live; used < 3_200 * MEGABYTE; used += 10 * MEGABYTE) {
    look({ ...AMPLE, outsideHeap: 50 * MEGABYTE, heapUsed: used, heapLive: live })
    if (marks() > seen) [live, seen] = [used, marks()]
    clock.advance(3_000)
  }
  assert.ok(marks() < 10, `${marks()} marks`)
})

for (const { megabytes, collected } of [
  { megabytes: 40, collected: 1 },
  { megabytes: 400, collected: 0 },
])
  test(`after the start: a heap of ${megabytes} MB is collected ${collected} times`, () => {
    const clock = new SimulatedClock()
    let collections = 0
    const collect = (): void => void collections++
    const heapBytes = (): number => megabytes * 1024 * 1024
    collectAfterStart({ clock, collect, heapBytes })
    collectAfterStart({ clock, collect, heapBytes })()
    assert.equal(collections, 0)
    clock.advance(3_600_000)
    assert.equal(collections, collected)
  })
