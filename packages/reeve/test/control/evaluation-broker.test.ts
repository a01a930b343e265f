import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Evaluation } from '@reeve/contract'
import { EvaluationBroker } from '../../src/control/index.ts'
import { DEFAULT_SCHEDULER_CONFIGURATION } from '../../src/model/index.ts'
import { put, remove, type Change } from '../../src/state/index.ts'
import { aJob, anEvaluation, anId } from '../build/index.ts'
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
  broker.enqueue(pending())
  assert.deepEqual([broker.hasReady, broker.dequeue()], [false, undefined])
})

test('evaluation broker: it can be enabled again, and is empty then', async () => {
  const { broker } = await aBroker()
  broker.enable(() => undefined)
  broker.enqueue(pending())
  broker.disable()
  broker.enable(() => undefined)
  assert.deepEqual([broker.hasReady, broker.mayScheduleInline(1)], [false, true])
})

test('evaluation broker: what is due comes before an inline placement', async () => {
  const { broker, write } = await aBroker()
  let wakes = 0
  broker.enable(() => wakes++)
  await write(put('evaluations', pending({ Priority: 10 }))).durable
  broker.enqueue(pending({ Priority: 10 }))
  assert.deepEqual([broker.hasReady, broker.mayScheduleInline(90), wakes], [true, false, 1])
  assert.equal(broker.dequeue()?.id, pending().ID)
  assert.equal(broker.mayScheduleInline(90), true)
})

test('evaluation broker: one that is not durable yet and matters more comes first', async () => {
  const { broker, write } = await aBroker()
  broker.enable(() => undefined)
  const { durable } = write(put('evaluations', pending()))
  const may = [49, 50, 51].map((priority) => broker.mayScheduleInline(priority))
  assert.deepEqual(may, [false, true, true])
  await durable
  broker.enqueue(pending())
  assert.equal(broker.dequeue()?.id, pending().ID)
  assert.equal(broker.mayScheduleInline(49), true)
})

test('evaluation broker: nothing is taken or placed while the operator has paused it', async () => {
  const { broker, write } = await aBroker()
  broker.enable(() => undefined)
  broker.enqueue(pending())
  const settings = { ...DEFAULT_SCHEDULER_CONFIGURATION, PauseEvalBroker: true }
  write(put('settings', { Name: 'scheduler-configuration', ...settings }))
  assert.deepEqual([broker.hasReady, broker.dequeue()], [false, undefined])
  assert.equal(broker.mayScheduleInline(90), false)
})

const closings = [
  {
    name: 'was cancelled',
    close: (row: Evaluation) => put('evaluations', { ...row, Status: 'canceled' }),
  },
  { name: 'was deleted', close: ({ ID }: Evaluation) => remove('evaluations', ID) },
] as const
for (const { name, close } of closings)
  for (const Status of ['pending', 'blocked'] as const)
    test(`evaluation broker: one that ${name} hides no ${Status} one of its job`, async () => {
      const { broker, write } = await aBroker()
      const urgent = pending({ ID: anId('eval', 1), Priority: 90 })
      const waiting = pending({ ID: anId('eval', 2), Priority: 10, Status })
      broker.enable(() => undefined)
      for (const row of [urgent, waiting]) {
        await write(put('evaluations', row)).durable
        broker.enqueue(row)
      }
      await write(close(urgent)).durable
      assert.deepEqual(broker.dequeue(), { id: waiting.ID, superseded: [] })
      assert.deepEqual([broker.hasReady, broker.dequeue()], [false, undefined])
    })

test('evaluation broker: evaluations that are over are not taken', async () => {
  const { broker, write } = await aBroker()
  broker.enable(() => undefined)
  await write(put('evaluations', pending())).durable
  broker.enqueue(pending())
  await write(put('evaluations', pending({ Status: 'complete' }))).durable
  assert.equal(broker.dequeue(), undefined)
})
