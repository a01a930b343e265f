import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { LIMITS } from '../model/index.ts'
import { DEFAULT_NODE_ADMISSION } from '../workload/index.ts'
import { NewNodeLimit, NodeLogLimit, NodePenalties, NodeRate } from './node-inbox.ts'

test('node rate: a burst is read at once, and reading pauses after it', () => {
  const rate = new NodeRate(0)
  for (let i = 0; i < LIMITS.nodeMessagesBurst; i++) assert.equal(rate.recordMessage(10, 0), 0)
  assert.equal(rate.recordMessage(10, 0), 2)
  const bytes = new NodeRate(0)
  assert.equal(bytes.recordMessage(LIMITS.nodeBytesBurst, 0), 0)
  assert.equal(bytes.recordMessage(LIMITS.nodeBytesPerSecond, 0), 1_000)
})

/**
 * Sends `perSecond` messages a second, pausing while the node is not read. Returns the responses.
 */
function send(perSecond: number, forMs: number): ReadonlySet<number | 'cut-off'> {
  const rate = new NodeRate(0)
  const told = new Set<number | 'cut-off'>()
  for (let nowMs = 0; nowMs < forMs;) {
    const waitMs = rate.recordMessage(10, nowMs)
    told.add(waitMs)
    if (waitMs === 'cut-off') break
    nowMs += Math.max(1_000 / perSecond, waitMs)
  }
  return told
}

const speeds = [
  { perSecond: LIMITS.nodeMessagesPerSecond / 2, isCut: false },
  { perSecond: LIMITS.nodeMessagesPerSecond, isCut: false },
  { perSecond: LIMITS.nodeMessagesPerSecond * 100, isCut: true },
]
for (const { perSecond, isCut } of speeds)
  test(`node rate: ${perSecond} messages a second are ${isCut ? 'cut off' : 'taken'}`, () => {
    assert.equal(send(perSecond, 4 * LIMITS.nodeOverloadMsMax).has('cut-off'), isCut)
  })

test('node rate: occasional bursts pause reading, and are never cut off', () => {
  const rate = new NodeRate(0)
  for (let nowMs = 0; nowMs < 10 * LIMITS.nodeOverloadMsMax; nowMs += 10_000)
    for (let i = 0; i < 2 * LIMITS.nodeMessagesBurst; i++)
      assert.notEqual(rate.recordMessage(10, nowMs), 'cut-off')
})

test('node rate: a response to a request of the server does not count', () => {
  const rate = new NodeRate(0)
  for (let i = 0; i < 2 * LIMITS.nodeMessagesBurst; i++) {
    assert.equal(rate.recordMessage(LIMITS.nodeBytesBurst, 0), 0)
    rate.refund(LIMITS.nodeBytesBurst, 0)
  }
})

test('node rate: heartbeats beyond the burst get no response', () => {
  const rate = new NodeRate(0)
  for (let i = 0; i < LIMITS.nodeHeartbeatsBurst; i++) assert.ok(rate.takeHeartbeat(0))
  assert.equal(rate.takeHeartbeat(0), false)
  assert.equal(rate.takeHeartbeat(1_000 / LIMITS.nodeHeartbeatsPerSecond), true)
})

test('penalties: a node is refused for a while', () => {
  const penalties = new NodePenalties()
  penalties.add('a', 0)
  assert.equal(penalties.remainingMs('a', 1_000), LIMITS.nodePenaltyMs - 1_000)
  assert.equal(penalties.remainingMs('b', 1_000), 0)
  assert.equal(penalties.remainingMs('a', LIMITS.nodePenaltyMs), 0)
})

test('penalties: many other nodes that are cut off do not end the penalty of one', () => {
  const penalties = new NodePenalties()
  for (let i = 0; i < 20_000; i++) penalties.add(`other-${i}`, 0)
  penalties.add('a', 0)
  penalties.add('b', 0)
  assert.equal(penalties.remainingMs('a', 0), LIMITS.nodePenaltyMs)
})

test('node log: a line for each cause and minute, and the number of those between', () => {
  const limit = new NodeLogLimit()
  assert.deepEqual(
    [limit.take('a', 0), limit.take('a', 1), limit.take('b', 1), limit.take('a', 59_999)],
    [0, undefined, 0, undefined],
  )
  assert.deepEqual([limit.take('a', 60_000), limit.take('a', 60_001)], [2, undefined])
})

test('new nodes: many addresses do not reset the limit of one', () => {
  const clock = new SimulatedClock()
  const settings = { ...DEFAULT_NODE_ADMISSION, newNodesPerAddressMax: 1, newNodesPerMinuteMax: 0 }
  const limit = new NewNodeLimit(clock, settings)
  for (let i = 0; i < 20_000; i++) limit.admit(`other-${i}`)
  assert.equal(limit.admit('a'), undefined)
  limit.admit('b')
  assert.match(limit.admit('a') ?? '', /^more than 1 new nodes/)
})

test('new nodes: one address does not use up the limit of the others', () => {
  const clock = new SimulatedClock()
  const settings = { ...DEFAULT_NODE_ADMISSION, newNodesPerAddressMax: 2, newNodesPerMinuteMax: 4 }
  const limit = new NewNodeLimit(clock, settings)
  const taken = ['a', 'a', 'a', 'b', 'b', 'c'].map((address) => limit.admit(address))
  assert.deepEqual(
    taken.map((why) => why?.slice(0, 31)),
    [
      undefined,
      undefined,
      'more than 2 new nodes a minute ',
      undefined,
      undefined,
      'this server admits 4 new nodes ',
    ],
  )
})

/** More nodes or addresses than are kept at once. */
const FLOOD = 25_000

test('penalties: a flood of other nodes ends only the oldest penalties', () => {
  const penalties = new NodePenalties()
  for (let i = 0; i < FLOOD; i++) penalties.add(`node-${i}`, 0)
  assert.equal(penalties.remainingMs('node-0', 1), 0)
  assert.equal(penalties.remainingMs(`node-${FLOOD / 2}`, 1), LIMITS.nodePenaltyMs - 1)
  assert.equal(penalties.remainingMs(`node-${FLOOD - 1}`, 1), LIMITS.nodePenaltyMs - 1)
})

test('new nodes: a flood from other addresses does not admit one that keeps trying', () => {
  const settings = { ...DEFAULT_NODE_ADMISSION, newNodesPerAddressMax: 1, newNodesPerMinuteMax: 0 }
  const limit = new NewNodeLimit(new SimulatedClock(), settings)
  assert.equal(limit.admit('a'), undefined)
  for (let i = 0; i < FLOOD; i++) {
    limit.admit(`address-${i}`)
    if (i % 1_000 === 0) assert.match(limit.admit('a') ?? '', /^more than 1 new nodes/)
  }
})
