import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWatched, type Watch } from './live-feed.ts'

const EVENT = {
  Topic: 'Allocation',
  Namespace: 'prod',
  Key: 'a1',
  FilterKeys: ['web', 'd1'],
} as const

const CASES: readonly (readonly [name: string, watch: Watch, isWatched: boolean])[] = [
  ['its topic', { topic: 'Allocation' }, true],
  ['another topic', { topic: 'Job' }, false],
  ['its namespace', { topic: 'Allocation', namespace: 'prod' }, true],
  ['all namespaces', { topic: 'Allocation', namespace: '*' }, true],
  ['another namespace', { topic: 'Allocation', namespace: 'default' }, false],
  ['its key', { topic: 'Allocation', key: 'a1' }, true],
  ['one of its filter keys', { topic: 'Allocation', key: 'web' }, true],
  ['another key', { topic: 'Allocation', key: 'api' }, false],
]

for (const [name, watch, expected] of CASES)
  test(`a query that watches ${name} is ${expected ? 'old' : 'still good'} after an event`, () =>
    assert.equal(isWatched([watch], EVENT), expected))
