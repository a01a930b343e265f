import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aNamespace, aStore, turn, write } from '../../test/build/store.ts'
import type { Recovery } from '../state/index.ts'
import { openMemoryEngine } from '../storage/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { DiskRecovery } from './host-watch.ts'

const RETRY_MS = 5_000

/** A store whose engine fails once, and recovers as it is told. */
async function aStage(recoveries: Recovery[]) {
  const { store, engine, disk, clock } = await aStore()
  const events: string[] = []
  const recovering = Object.assign(engine, { recover: async () => recoveries.shift() ?? 'none' })
  const note = (_fields: object, message: string): void =>
    void events.push(message.replace(/: .*/, ''))
  const keeper = new DiskRecovery({
    store,
    engine: recovering,
    clock,
    log: { info: note, warn: note, error: note },
    pause: async () => void events.push('pause'),
    resume: () => void events.push('resume'),
  })
  store.onFault((fault) => keeper.onWriteFault(fault))
  const fail = async (): Promise<void> => {
    engine.faultInjector.fillDisk()
    await assert.rejects(write(store, [aNamespace('lost')]).durable)
    // What the engine of a real disk does by itself: the failed append is taken back.
    const again = openMemoryEngine({ disk })
    engine.append = (entries) => again.append(entries)
    await turn()
  }
  return { store, clock, keeper, events, fail }
}

test('disk keeper: pauses, accepts deletes, and resumes when there is room', async () => {
  const { store, clock, keeper, events, fail } = await aStage(['deletes', 'deletes', 'all'])
  await fail()
  assert.deepEqual(events, [
    'The disk is full.',
    'pause',
    'the server accepts only reads and deletes until the disk has room',
  ])
  assert.equal(store.restriction?.kind, 'storage-full')
  clock.advance(RETRY_MS)
  await turn()
  assert.equal(events.length, 3, 'what has not changed is not told again')
  clock.advance(RETRY_MS)
  await turn()
  assert.deepEqual(events.slice(3), ['resume', 'the disk accepts writes again'])
  assert.equal(store.restriction, undefined)
  await write(store, [aNamespace('web')]).durable
  await keeper.stop()
})

test('disk keeper: refuses everything while the disk takes nothing', async () => {
  const { store, clock, keeper, events, fail } = await aStage(['none', 'none', 'all'])
  await fail()
  assert.deepEqual(events, ['The disk is full.', 'pause'])
  assert.equal(store.fault?.kind, 'storage-full')
  for (let i = 0; i < 2; i++) {
    clock.advance(RETRY_MS)
    await turn()
  }
  assert.equal(store.fault, undefined)
  await keeper.stop()
})

test('disk keeper: a server that started on such a disk resumes too', async () => {
  const { store, clock, keeper, events } = await aStage(['all'])
  const fault = new Fault('storage-full', 'The disk is full.')
  store.abortPending(fault)
  store.resume('deletes')
  keeper.startRestricted({ fault, acceptedWrites: 'deletes' })
  clock.advance(RETRY_MS)
  await turn()
  assert.ok(events.includes('resume'))
  await keeper.stop()
})
