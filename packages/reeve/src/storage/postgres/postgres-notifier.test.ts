import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atEnd } from '../../../test/build/at-end.ts'
import { startPostgres, whyNoPostgres } from '../../../test/build/postgres.ts'
import { until } from '../../../test/build/until.ts'
import { openPostgresDatabase } from './postgres-database.ts'

const skip = whyNoPostgres()
const claim = { holder: 'a', address: 'a:1', ttlMs: 60_000 }

test(
  'the bell rings for appends and for the lease, and again after a lost connection',
  { skip },
  async (t) => {
    const postgres = await startPostgres()
    atEnd(t, () => postgres.stop())
    const database = await openPostgresDatabase(await postgres.newDatabase())
    atEnd(t, () => database.close())
    const heard: string[] = []
    const listening = database.notifier.subscribe((rung) => heard.push(rung))
    atEnd(t, () => listening.stop())
    const nextRings = async (): Promise<readonly string[]> => {
      await until('the bell', () => (heard.length > 0 ? true : undefined))
      return heard.splice(0)
    }
    await until('it to hear', () => (listening.isConnected ? true : undefined))
    assert.deepEqual(await nextRings(), ['log', 'lease'], 'what came before is to be looked at')
    const held = await database.lease.acquire(claim)
    assert.deepEqual(await nextRings(), ['lease'])
    const engine = await database.openEngine()
    await engine.beginTerm(held?.term ?? 0)
    await engine.append([{ index: 1, timeMs: 1, text: '{}', blobs: [] }])
    assert.deepEqual(await nextRings(), ['log'])

    await postgres.kill()
    await until('it to be deaf', () => (listening.isConnected ? undefined : true))
    await postgres.start()
    await until('it to hear again', () => (listening.isConnected ? true : undefined))
    assert.deepEqual(await nextRings(), ['log', 'lease'])
    await database.lease.release(held ?? { term: 0 })
    assert.deepEqual(await nextRings(), ['lease'])

    listening.stop()
    await engine.append([{ index: 2, timeMs: 1, text: '{}', blobs: [] }])
    await engine.close()
    assert.deepEqual(heard, [], 'who has stopped hears nothing')
  },
)

test('notifier: a failed lease acquisition sends no notification', { skip }, async (t) => {
  const postgres = await startPostgres()
  atEnd(t, () => postgres.stop())
  const database = await openPostgresDatabase(await postgres.newDatabase())
  atEnd(t, () => database.close())
  await database.lease.acquire(claim)
  const heard: string[] = []
  const listening = database.notifier.subscribe((rung) => heard.push(rung))
  atEnd(t, () => listening.stop())
  await until('it to hear', () => (heard.length >= 2 ? true : undefined))
  assert.equal(await database.lease.acquire({ ...claim, holder: 'b' }), undefined)
  await database.lease.release({ term: 1 })
  await until('the release', () => (heard.length >= 3 ? true : undefined))
  assert.deepEqual(heard, ['log', 'lease', 'lease'])
})
