import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Evaluation } from '@reeve/contract'
import { EvaluationBroker } from '../../src/control/index.ts'
import { DEFAULT_SCHEDULER_CONFIGURATION } from '../../src/model/index.ts'
import { put, type Change } from '../../src/state/index.ts'
import { aJob, anEvaluation } from '../build/index.ts'
import { aStore } from '../build/store.ts'

async function aBroker() {
  const { store, clock } = await aStore()
  const broker = new EvaluationBroker({ store, clock })
  const write = (change: Change) =>
    store.commit({ by: 'system', cause: undefined, changes: () => [change] })
  return { store, broker, write }
}

function pending(fields: Partial<Evaluation> = {}): Evaluation {
  return anEvaluation(aJob(), { Priority: 50, ...fields })
}

test('evaluation broker: nothing is scheduled inline on a server that does not lead', async () => {
  const { broker } = await aBroker()
  assert.equal(broker.mayScheduleInline(50), false)
  broker.enable(() => undefined)
  assert.equal(broker.mayScheduleInline(50), true)
  broker.disable()
  assert.equal(broker.mayScheduleInline(50), false)
  broker.add(pending())
  assert.deepEqual([broker.hasDue, broker.take()], [false, undefined])
})

test('evaluation broker: it can be enabled again, and is empty then', async () => {
  const { broker } = await aBroker()
  broker.enable(() => undefined)
  broker.add(pending())
  broker.disable()
  broker.enable(() => undefined)
  assert.deepEqual([broker.hasDue, broker.mayScheduleInline(1)], [false, true])
})

test('evaluation broker: what is due comes before an inline placement', async () => {
  const { broker } = await aBroker()
  let wakes = 0
  broker.enable(() => wakes++)
  broker.add(pending({ Priority: 10 }))
  assert.deepEqual([broker.hasDue, broker.mayScheduleInline(90), wakes], [true, false, 1])
  assert.equal(broker.take()?.id, pending().ID)
  assert.equal(broker.mayScheduleInline(90), true)
})

test('evaluation broker: one that is not durable yet and matters more comes first', async () => {
  const { broker, write } = await aBroker()
  broker.enable(() => undefined)
  const { durable } = write(put('evaluations', pending()))
  const may = [49, 50, 51].map((priority) => broker.mayScheduleInline(priority))
  assert.deepEqual(may, [false, true, true])
  await durable
  broker.add(pending())
  assert.equal(broker.take()?.id, pending().ID)
  assert.equal(broker.mayScheduleInline(49), true)
})

test('evaluation broker: nothing is taken or placed while the operator has paused it', async () => {
  const { broker, write } = await aBroker()
  broker.enable(() => undefined)
  broker.add(pending())
  const settings = { ...DEFAULT_SCHEDULER_CONFIGURATION, PauseEvalBroker: true }
  write(put('settings', { Name: 'scheduler-configuration', ...settings }))
  assert.deepEqual([broker.hasDue, broker.take()], [false, undefined])
  assert.equal(broker.mayScheduleInline(90), false)
})
