import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Evaluation } from '@reeve/contract'
import { Broker } from '../../src/control/broker.ts'
import { isoFromMs } from '../../src/kit/duration.ts'
import { aJob, anEvaluation } from '../build/index.ts'
import { SimulatedClock } from '../build/simulated-clock.ts'

function aBroker() {
  const clock = new SimulatedClock()
  let wakes = 0
  const broker = new Broker(clock, () => wakes++)
  const take = (): readonly [string, ...string[]] | undefined => {
    const due = broker.take()
    return due === undefined ? undefined : [due.id, ...due.superseded]
  }
  return { clock, broker, take, wakes: () => wakes }
}

function of(job: string, ID: string, fields: Partial<Evaluation> = {}): Evaluation {
  return anEvaluation(aJob({ ID: job }), { ID, ...fields })
}

test('broker: the highest priority comes first, then the oldest', () => {
  const { broker, take } = aBroker()
  broker.add(of('a', 'old', { Priority: 50, CreateIndex: 5 }))
  broker.add(of('b', 'urgent', { Priority: 90, CreateIndex: 9 }))
  broker.add(of('c', 'older', { Priority: 50, CreateIndex: 4 }))
  assert.deepEqual([take(), take(), take(), take()], [['urgent'], ['older'], ['old'], undefined])
})

test('broker: adding one twice changes nothing', () => {
  const { broker, take } = aBroker()
  broker.add(of('a', 'one'))
  broker.add(of('a', 'one'))
  assert.deepEqual([take(), take()], [['one'], undefined])
})

test('broker: one run does for all that wait for a job, and the newest is the one', () => {
  const { broker, take } = aBroker()
  broker.add(of('a', 'first', { CreateIndex: 1 }))
  broker.add(of('a', 'second', { CreateIndex: 2 }))
  broker.add(of('b', 'other', { CreateIndex: 3 }))
  broker.add(of('a', 'third', { CreateIndex: 4 }))
  assert.deepEqual([take(), take(), take()], [['third', 'first', 'second'], ['other'], undefined])
})

test('broker: of one job the highest priority is carried out', () => {
  const { broker, take } = aBroker()
  broker.add(of('a', 'urgent', { Priority: 90, CreateIndex: 1 }))
  broker.add(of('a', 'newer', { Priority: 50, CreateIndex: 2 }))
  assert.deepEqual(take(), ['urgent', 'newer'])
})

test('broker: the same id in two namespaces is two jobs', () => {
  const { broker, take } = aBroker()
  broker.add(of('a', 'one', { Namespace: 'x', CreateIndex: 1 }))
  broker.add(of('a', 'two', { Namespace: 'y', CreateIndex: 2 }))
  assert.deepEqual([take(), take()], [['one'], ['two']])
})

test('broker: one that waited for room gives way and is not settled here', () => {
  const { broker, take } = aBroker()
  broker.add(of('a', 'blocked', { Status: 'blocked', Priority: 90, CreateIndex: 9 }))
  broker.add(of('a', 'asked', { CreateIndex: 1 }))
  assert.deepEqual([take(), take()], [['asked'], undefined])
})

test('broker: what is not due waits for its time and takes nobody’s place', () => {
  const { clock, broker, take, wakes } = aBroker()
  broker.add(of('a', 'later', { WaitUntil: isoFromMs(clock.nowMs() + 1_000) }))
  broker.add(of('a', 'now'))
  assert.deepEqual([take(), take(), wakes()], [['now'], undefined, 1])
  clock.advance(999)
  assert.equal(broker.isReady, false)
  clock.advance(1)
  assert.deepEqual([wakes(), take()], [2, ['later']])
})
