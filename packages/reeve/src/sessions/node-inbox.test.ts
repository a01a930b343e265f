import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { LIMITS } from '../model/index.ts'
import { NodeInbox } from './node-inbox.ts'

interface Bench {
  readonly inbox: NodeInbox
  readonly clock: SimulatedClock
  readonly handled: string[]
  readonly socket: { isPaused: boolean; pause(): void; resume(): void }
  isOverloaded: boolean
  /** Lets one message that is being handled end. */
  readonly release: () => Promise<void>
}

/** An inbox whose messages are handled one by one, when the test says so. */
function aBench(isHeld = true): Bench {
  const clock = new SimulatedClock()
  const waiting: (() => void)[] = []
  const socket = {
    isPaused: false,
    pause(): void {
      socket.isPaused = true
    },
    resume(): void {
      socket.isPaused = false
    },
  }
  const bench: Bench = {
    clock,
    socket,
    handled: [],
    isOverloaded: false,
    async release() {
      waiting.shift()?.()
      await turn()
    },
    inbox: new NodeInbox({
      clock,
      socket,
      handle: async (bytes) => {
        bench.handled.push(bytes.toString())
        if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve))
      },
      onOverload: () => {
        bench.isOverloaded = true
      },
      onError: (thrown) => assert.fail(String(thrown)),
    }),
  }
  return bench
}

test('node inbox: one message at a time, in order', async () => {
  const { inbox, handled, release } = aBench()
  for (const text of ['a', 'b', 'c']) inbox.put(Buffer.from(text))
  assert.deepEqual(handled, ['a'])
  await release()
  assert.deepEqual(handled, ['a', 'b'])
  await release()
  assert.deepEqual(handled, ['a', 'b', 'c'])
})

test('node inbox: reading stops while too many messages wait', async () => {
  const { inbox, socket, release } = aBench()
  inbox.put(Buffer.from('first'))
  for (let i = 1; i < LIMITS.nodeMessagesQueuedMax; i++) inbox.put(Buffer.from('next'))
  assert.equal(socket.isPaused, false)
  inbox.put(Buffer.from('last'))
  assert.equal(socket.isPaused, true)
  for (let i = 0; i <= LIMITS.nodeMessagesQueuedMax / 2 + 1; i++) await release()
  assert.equal(socket.isPaused, false)
})

test('node inbox: reading stops while the node is over its rate', async () => {
  const { inbox, socket, clock } = aBench(false)
  for (let i = 0; i < LIMITS.nodeMessagesBurst; i++) inbox.put(Buffer.from('x'))
  await turn()
  await turn()
  for (let i = 0; i < LIMITS.nodeMessagesPerSecond; i++) inbox.put(Buffer.from('x'))
  await turn()
  assert.equal(socket.isPaused, true)
  clock.advance(999)
  assert.equal(socket.isPaused, true)
  clock.advance(1)
  assert.equal(socket.isPaused, false)
})

test('node inbox: excess heartbeats are dropped before they are handled', async () => {
  const { inbox, handled } = aBench(false)
  for (let i = 0; i < 1_000; i++) inbox.put(Buffer.from('{"kind":"heartbeat"}'))
  await turn()
  assert.equal(handled.length, LIMITS.nodeHeartbeatsBurst)
})

test('node inbox: a flood that does not end is reported', async () => {
  const bench = aBench(false)
  const stepMs = 1_000
  for (let nowMs = 0; nowMs <= LIMITS.nodeOverloadMsMax; nowMs += stepMs) {
    assert.equal(bench.isOverloaded, false)
    for (let i = 0; i < LIMITS.nodeMessagesBurst; i++) bench.inbox.put(Buffer.from('x'))
    await turn()
    bench.clock.advance(stepMs)
  }
  assert.equal(bench.isOverloaded, true)
})

test('node inbox: a message with the prefix is taken out of order', async () => {
  const { inbox, handled, release } = aBench()
  for (const text of ['a', 'b1', 'b2', 'c']) inbox.put(Buffer.from(text))
  const prefix = Buffer.from('b')
  assert.equal(inbox.takeIf(prefix)?.toString(), 'b1')
  assert.equal(inbox.takeIf(prefix)?.toString(), 'b2')
  assert.equal(inbox.takeIf(prefix), undefined)
  await release()
  assert.deepEqual(handled, ['a', 'c'])
})

test('node inbox: no message is handled after close; the connection is still read', async () => {
  const { inbox, handled, socket } = aBench()
  for (let i = 0; i <= LIMITS.nodeMessagesQueuedMax; i++) inbox.put(Buffer.from('x'))
  assert.equal(socket.isPaused, true)
  inbox.close()
  assert.equal(socket.isPaused, false)
  inbox.put(Buffer.from('late'))
  await turn()
  assert.deepEqual(handled, ['x'])
})
