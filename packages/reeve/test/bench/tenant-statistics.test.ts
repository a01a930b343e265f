import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  countsText,
  findMisses,
  missingLines,
  quantile,
  summarize,
  summarizeAll,
  verdictOf,
  type KindSamples,
  type Observation,
  type VictimKind,
  type VictimSummary,
} from '../../bench/tenants/statistics.ts'

const MB = 1024 * 1024

/** A victim of which every request took so long, but for what is given. */
function aVictim(ms: number, given: Partial<Record<VictimKind, KindSamples>> = {}): VictimSummary {
  const same: KindSamples = { tookMs: [ms], refused: {} }
  return summarizeAll({
    read: same,
    list: same,
    register: same,
    event: same,
    log: same,
    ...given,
  })
}

function observed(given: Partial<Observation>): Observation {
  return {
    victim: aVictim(10),
    memory: { beforeBytes: 100 * MB, peakBytes: 100 * MB, afterBytes: 100 * MB },
    lostNodes: [],
    repairs: [],
    ...given,
  }
}

const CALM = { alone: aVictim(10), control: aVictim(10) }

test('quantile: the least sample that the share does not exceed', () => {
  const hundred = Array.from({ length: 100 }, (_, at) => 100 - at)
  const cases = [
    { samples: [], share: 0.99, want: 0 },
    { samples: [7], share: 0.5, want: 7 },
    { samples: [7], share: 0.99, want: 7 },
    { samples: [2, 1], share: 0.5, want: 1 },
    { samples: hundred, share: 0.5, want: 50 },
    { samples: hundred, share: 0.99, want: 99 },
    { samples: hundred, share: 1, want: 100 },
  ]
  for (const { samples, share, want } of cases)
    assert.equal(quantile(samples, share), want, `${share} of ${samples.length} samples`)
})

test('summarize: the slowest hundredth and what was refused', () => {
  const tookMs = Array.from({ length: 200 }, (_, at) => at + 1)
  const summary = summarize({ tookMs, refused: { 429: 2 } })
  assert.deepEqual(summary, { count: 200, p50: 100, p99: 198, max: 200, refused: { 429: 2 } })
})

test('latency: three times the p99 alone and 100 ms above it are both allowed, no more', () => {
  const cases = [
    { alone: 10, during: 30, misses: 0 },
    { alone: 10, during: 30.1, misses: 5 },
    { alone: 60, during: 160, misses: 0 },
    { alone: 60, during: 160.1, misses: 5 },
  ]
  for (const { alone, during, misses } of cases) {
    const compared = { alone: aVictim(alone), control: aVictim(1) }
    const found = findMisses(observed({ victim: aVictim(during) }), compared)
    assert.equal(found.length, misses, `${during} ms, alone ${alone} ms`)
    assert.ok(found.every(({ what }) => what === 'latency'))
  }
})

test('latency: one that the control shows too is attributed to the machine', () => {
  const slow = observed({ victim: aVictim(100) })
  const busy = findMisses(slow, { alone: aVictim(10), control: aVictim(95) })
  assert.equal(verdictOf(busy), 'machine')
  const calm = findMisses(slow, { alone: aVictim(10), control: aVictim(90) })
  assert.equal(verdictOf(calm), 'missed')
})

test('refused requests of the victim are a miss, with their statuses', () => {
  const victim = aVictim(10, { register: { tookMs: [10], refused: { 429: 1, 503: 2 } } })
  const misses = findMisses(observed({ victim }), CALM)
  assert.deepEqual(misses, [
    { what: 'refused', text: '3 register refused (503 × 2, 429 × 1)', isMachine: false },
  ])
  assert.equal(verdictOf(misses), 'missed')
})

test('memory: a fifth more than before is allowed', () => {
  const after = (megabytes: number): Observation =>
    observed({
      memory: { beforeBytes: 100 * MB, peakBytes: 900 * MB, afterBytes: megabytes * MB },
    })
  assert.deepEqual(findMisses(after(120), CALM), [])
  assert.deepEqual(
    findMisses(after(121), CALM).map(({ text }) => text),
    ['memory stays 21 % above'],
  )
})

test('a lost node and a repair are misses that no busy machine excuses', () => {
  const misses = findMisses(
    observed({ lostNodes: ['node-1'], repairs: ['server restarted'] }),
    CALM,
  )
  assert.deepEqual(
    misses.map(({ what }) => what),
    ['heartbeat', 'repair'],
  )
  assert.equal(verdictOf(misses), 'missed')
  assert.equal(verdictOf([]), 'met')
})

test('missing lines: by their numbers, and by time where the stream did not go on', () => {
  const cases = [
    { before: 10, after: 211, received: 200, missing: 0 },
    { before: 10, after: 166, received: 155, missing: 0 },
    { before: 10, after: 211, received: 155, missing: 45 },
    { before: 10, after: undefined, received: 155, missing: 45 },
    { before: undefined, after: 3, received: 2, missing: 198 },
    // The task was started again.
    { before: 500, after: 211, received: 200, missing: 0 },
  ]
  for (const { missing, ...window } of cases)
    assert.equal(missingLines({ ...window, expected: 200 }), missing, JSON.stringify(window))
})

test('counts: the largest first', () => {
  assert.equal(countsText({ 429: 3, 200: 1_204, closed: 3 }), '200 × 1,204, 429 × 3, closed × 3')
  assert.equal(countsText({}), '')
})
