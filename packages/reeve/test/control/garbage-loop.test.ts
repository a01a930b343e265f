import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GarbageCollectionLoop } from '../../src/control/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { put } from '../../src/state/index.ts'
import { aJob, anEvaluation, anId } from '../build/index.ts'
import { aStore } from '../build/store.ts'

const MINUTE_MS = 60_000

async function aWorld() {
  const { store, clock, engine } = await aStore()
  const logged: string[] = []
  const note = (_fields: object, message: string): void => void logged.push(message)
  const loop = new GarbageCollectionLoop({
    store,
    clock,
    log: { info: note, warn: note, error: note },
  })
  const time = nsFromMs(clock.nowMs())
  const job = aJob()
  await store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      put('jobs', job),
      put('evaluations', {
        ...anEvaluation(job, { ID: anId('eval', 1), Status: 'complete' }),
        CreateTime: time,
        ModifyTime: time,
      }),
    ],
  }).durable
  return { store, clock, engine, loop, logged }
}

test('garbage loop: looks every five minutes and takes what is old enough by then', async () => {
  const { store, clock, loop, logged } = await aWorld()
  loop.start()
  for (let minutes = 5; minutes < 60; minutes += 5) {
    clock.advance(5 * MINUTE_MS)
    await loop.idle()
    assert.equal(store.tables.evaluations.size, 1, `after ${minutes} minutes`)
  }
  clock.advance(5 * MINUTE_MS)
  await loop.idle()
  assert.equal(store.tables.evaluations.size, 0)
  assert.deepEqual(logged, ['garbage collected'])
})

test('garbage loop: stopped, it does nothing more', async () => {
  const { store, clock, loop } = await aWorld()
  loop.start()
  await loop.stop()
  clock.advance(120 * MINUTE_MS)
  assert.equal(store.tables.evaluations.size, 1)
})

test('garbage loop: a storage fault is logged, and the loop continues', async () => {
  const { store, clock, loop, logged } = await aWorld()
  loop.start()
  await store.close()
  clock.advance(65 * MINUTE_MS)
  await loop.idle()
  assert.equal(store.tables.evaluations.size, 1)
  assert.ok(logged.length > 0 && logged.every((one) => one === 'garbage could not be collected'))
  await loop.stop()
})
