import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeaseBackoff } from './cluster-member-options.ts'

test('lease pause: a storage that fails soon after each take-over is left alone for longer', () => {
  const pause = new LeaseBackoff()
  const waited = [1, 2, 3, 4, 5, 6].map((round) => {
    pause.leadershipStarted(round * 1_000)
    pause.failed('storage-failed', round * 1_000 + 500)
    return pause.ms
  })
  assert.deepEqual(waited, [1_000, 2_000, 4_000, 8_000, 15_000, 15_000])
})

const cases = [
  { name: 'a server that was deposed', kind: 'storage-fenced', lastedMs: 10 },
  { name: 'a server whose log diverged', kind: 'log-diverged', lastedMs: 10 },
  { name: 'a storage that failed after half a minute', kind: 'storage-failed', lastedMs: 30_000 },
]
for (const { name, kind, lastedMs } of cases)
  test(`lease pause: none for ${name}`, () => {
    const pause = new LeaseBackoff()
    pause.leadershipStarted(0)
    pause.failed('storage-failed', 10)
    assert.equal(pause.ms, 1_000)
    pause.leadershipStarted(0)
    pause.failed(kind, lastedMs)
    assert.equal(pause.ms, 0)
  })

test('lease pause: none for a server that could not load the state of a database that is away', () => {
  const pause = new LeaseBackoff()
  pause.failed('storage-failed', 10)
  assert.equal(pause.ms, 0)
})
