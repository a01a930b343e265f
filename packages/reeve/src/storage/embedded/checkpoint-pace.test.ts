import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  LONG_LOG_BYTES,
  nextBatchBytes,
  BATCH_BYTES_MAX,
  BATCH_BYTES_MIN,
} from './embedded-engine.ts'

const KB = 1024

const cases = [
  { name: 'stays small on an idle server', bytes: 256 * KB, gather: 1, wait: 3, next: 256 * KB },
  { name: 'at most doubles', bytes: 256 * KB, gather: 1, wait: 500, next: 512 * KB },
  { name: 'at most halves', bytes: 2048 * KB, gather: 10, wait: 1, next: 1024 * KB },
  {
    name: 'keeps a size that has its share',
    bytes: 1024 * KB,
    gather: 3,
    wait: 33,
    next: 1024 * KB,
  },
  {
    name: 'is never larger than the limit',
    bytes: BATCH_BYTES_MAX,
    gather: 1,
    wait: 900,
    next: BATCH_BYTES_MAX,
  },
  {
    name: 'is never smaller than the limit',
    bytes: BATCH_BYTES_MIN,
    gather: 9,
    wait: 1,
    next: BATCH_BYTES_MIN,
  },
  {
    name: 'grows where gathering took no time',
    bytes: 256 * KB,
    gather: 0,
    wait: 1,
    next: 512 * KB,
  },
  {
    name: 'has a larger share once the log behind the mark is long',
    bytes: 1024 * KB,
    gather: 3,
    wait: 18,
    tail: LONG_LOG_BYTES + 1,
    next: 1536 * KB,
  },
  {
    name: 'has its usual share while the log behind the mark is as long as allowed',
    bytes: 1024 * KB,
    gather: 3,
    wait: 33,
    tail: LONG_LOG_BYTES,
    next: 1024 * KB,
  },
]

for (const { name, bytes, gather, wait, tail = 0, next } of cases)
  test(`checkpoint pace: a piece ${name}`, () => {
    const times = { encodeMs: gather, waitMs: wait }
    assert.equal(nextBatchBytes(bytes, times, tail), next)
  })

test('checkpoint pace: a checkpoint keeps its share of a thread whose turns take 40 ms', () => {
  const msPerByte = 1 / (400 * KB)
  let bytes = BATCH_BYTES_MIN
  let gatherMs = 0
  for (let i = 0; i < 20; i++) {
    gatherMs = bytes * msPerByte
    bytes = nextBatchBytes(bytes, { encodeMs: gatherMs, waitMs: 40 }, 0)
  }
  assert.ok(Math.abs(gatherMs / (gatherMs + 40) - 1 / 12) < 0.01)
})
