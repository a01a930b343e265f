import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  nextMemoryLevel,
  usedFraction,
  type MemoryLevel,
  type MemoryUsage,
} from './memory-pressure.ts'

const USE: MemoryUsage = {
  heapUsed: 300,
  heapLive: 200,
  heapLimit: 400,
  outsideHeap: 100,
  memoryMax: 600,
}
const shares: readonly { name: string; use: Partial<MemoryUsage>; share: number }[] = [
  { name: 'garbage does not count', use: {}, share: 0.5 },
  { name: 'before the first collection all counts', use: { heapLive: undefined }, share: 0.75 },
  { name: 'what was freed since counts no more', use: { heapUsed: 100 }, share: 1 / 3 },
  { name: 'buffers count against the memory', use: { outsideHeap: 340 }, share: 0.9 },
]
for (const { name, use, share } of shares)
  test(`memory: ${name}`, () => assert.equal(usedFraction({ ...USE, ...use }), share))

const levels: readonly [before: MemoryLevel, share: number, after: MemoryLevel][] = [
  ['normal', 0.79, 'normal'],
  ['normal', 0.8, 'high'],
  ['normal', 0.9, 'full'],
  ['full', 0.86, 'full'],
  ['full', 0.84, 'high'],
  ['high', 0.89, 'high'],
  ['high', 0.5, 'normal'],
]
for (const [before, share, after] of levels)
  test(`memory: ${before} at ${share} becomes ${after}`, () =>
    assert.equal(nextMemoryLevel(before, share), after))
