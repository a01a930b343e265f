import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Evaluation } from '@reeve/contract'
import { ReadyQueue } from '../../src/control/evaluation-broker.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { aJob, anEvaluation } from '../build/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'

function aQueue() {
  const clock = new SimulatedClock()
  let wakes = 0
  const queue = new ReadyQueue(clock, () => wakes++)
  const take = (): readonly [string, ...string[]] | undefined => {
    const due = queue.dequeue(() => true)
    return due === undefined ? undefined : [due.id, ...due.superseded]
  }
  return { clock, queue, take, wakes: () => wakes }
}

function of(job: string, ID: string, fields: Partial<Evaluation> = {}): Evaluation {
  return anEvaluation(aJob({ ID: job }), { ID, ...fields })
}

test('ready queue: the highest priority comes first, then the oldest', () => {
  const { queue, take } = aQueue()
  queue.enqueue(of('a', 'old', { Priority: 50, CreateIndex: 5 }))
  queue.enqueue(of('b', 'urgent', { Priority: 90, CreateIndex: 9 }))
  queue.enqueue(of('c', 'older', { Priority: 50, CreateIndex: 4 }))
  assert.deepEqual([take(), take(), take(), take()], [['urgent'], ['older'], ['old'], undefined])
})

test('ready queue: an evaluation that was queued again comes behind the others', () => {
  const { queue, take } = aQueue()
  queue.enqueue(of('a', 'again', { CreateIndex: 4, ModifyIndex: 9 }))
  queue.enqueue(of('b', 'new', { CreateIndex: 8, ModifyIndex: 8 }))
  assert.deepEqual([take(), take()], [['new'], ['again']])
})

test('ready queue: adding one twice changes nothing', () => {
  const { queue, take } = aQueue()
  queue.enqueue(of('a', 'one'))
  queue.enqueue(of('a', 'one'))
  assert.deepEqual([take(), take()], [['one'], undefined])
})

test('ready queue: one run does for all that wait for a job, and the newest is the one', () => {
  const { queue, take } = aQueue()
  queue.enqueue(of('a', 'first', { CreateIndex: 1 }))
  queue.enqueue(of('a', 'second', { CreateIndex: 2 }))
  queue.enqueue(of('b', 'other', { CreateIndex: 3 }))
  queue.enqueue(of('a', 'third', { CreateIndex: 4 }))
  assert.deepEqual([take(), take(), take()], [['third', 'first', 'second'], ['other'], undefined])
})

test('ready queue: of one job the highest priority is carried out', () => {
  const { queue, take } = aQueue()
  queue.enqueue(of('a', 'urgent', { Priority: 90, CreateIndex: 1 }))
  queue.enqueue(of('a', 'newer', { Priority: 50, CreateIndex: 2 }))
  assert.deepEqual(take(), ['urgent', 'newer'])
})

test('ready queue: the same id in two namespaces is two jobs', () => {
  const { queue, take } = aQueue()
  queue.enqueue(of('a', 'one', { Namespace: 'x', CreateIndex: 1 }))
  queue.enqueue(of('a', 'two', { Namespace: 'y', CreateIndex: 2 }))
  assert.deepEqual([take(), take()], [['one'], ['two']])
})

test('ready queue: one that waited for room gives way and is not settled here', () => {
  const { queue, take } = aQueue()
  queue.enqueue(of('a', 'blocked', { Status: 'blocked', Priority: 90, CreateIndex: 9 }))
  queue.enqueue(of('a', 'asked', { CreateIndex: 1 }))
  assert.deepEqual([take(), take()], [['asked'], undefined])
})

test('ready queue: what is not due waits for its time and takes nobody’s place', () => {
  const { clock, queue, take, wakes } = aQueue()
  queue.enqueue(of('a', 'later', { WaitUntil: isoFromMs(clock.nowMs() + 1_000) }))
  queue.enqueue(of('a', 'now'))
  assert.deepEqual([take(), take(), wakes()], [['now'], undefined, 1])
  clock.advance(999)
  assert.equal(queue.isReady, false)
  clock.advance(1)
  assert.deepEqual([wakes(), take()], [2, ['later']])
})
