import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  describeLoss,
  describeRejectedWrites,
  type CommitLoss,
  type LossStore,
  LossMonitor,
} from './commit-loss.ts'
import type { EntryId } from './log-history.ts'

test('losses: a log that continues is not a loss', async () => {
  const world = aWorld()
  const monitor = world.server('a', 5)
  world.append(3)
  await monitor.compare(world.engine)
  assert.equal(monitor.openLoss, undefined)
  assert.equal(monitor.commitsLost, 0)
})

test('losses: a log that ends earlier is recorded with its indexes, and writes are rejected', async () => {
  const world = aWorld()
  const monitor = world.server('a', 5)
  world.lose(2)
  await monitor.compare(world.engine)
  const { openLoss } = monitor
  assert.deepEqual([openLoss?.fromIndex, openLoss?.toIndex, openLoss?.foundBy], [4, 5, 'a'])
  assert.equal(monitor.commitsLost, 2)
  assert.match(world.logged[0] ?? '', /^2 acknowledged commits \(index 4 to 5\) are missing from/)
})

test('losses: entries that others have written in place of the lost ones are found', async () => {
  const world = aWorld()
  const monitor = world.server('a', 5)
  world.lose(2)
  world.append(10)
  await monitor.compare(world.engine)
  assert.deepEqual([monitor.openLoss?.fromIndex, monitor.openLoss?.toIndex], [4, 5])
})

test('losses: several servers record one loss for the same failover, with the largest range', async () => {
  const world = aWorld()
  const [a, b] = [world.server('a', 4), world.server('b', 5)]
  world.lose(3)
  await a.compare(world.engine)
  await b.compare(world.engine)
  assert.equal(world.losses.length, 1)
  assert.deepEqual([b.openLoss?.fromIndex, b.openLoss?.toIndex], [3, 5])
})

test('losses: servers that find a loss at the same moment record one', async () => {
  const world = aWorld()
  const [a, b] = [world.server('a', 5), world.server('b', 4)]
  world.lose(2)
  await Promise.all([a.compare(world.engine), b.compare(world.engine)])
  assert.equal(world.losses.length, 1)
  await Promise.all([a.refresh(), b.refresh()])
  assert.deepEqual([b.openLoss?.fromIndex, b.openLoss?.toIndex], [4, 5])
})

test('losses: a server that comes back after the loss was accepted does not reject writes again', async () => {
  const world = aWorld()
  const [a, away] = [world.server('a', 5), world.server('b', 5)]
  world.lose(2)
  await a.compare(world.engine)
  await world.store.accept('operator')
  world.append(7)
  await away.compare(world.engine)
  assert.equal(away.openLoss, undefined)
  assert.equal(away.commitsLost, 2, 'it tells of it all the same')
  assert.equal(world.losses.length, 1)
})

test('losses: a second failover is another loss, whatever was accepted before', async () => {
  const world = aWorld()
  const monitor = world.server('a', 5)
  world.lose(2)
  await monitor.compare(world.engine)
  await world.store.accept('operator')
  world.append(4)
  world.follow(monitor)
  world.lose(1)
  await monitor.compare(world.engine)
  assert.equal(world.losses.length, 2)
  assert.deepEqual([monitor.openLoss?.fromIndex, monitor.openLoss?.toIndex], [7, 7])
})

test('losses: a loss that could not be recorded is found again', async () => {
  const world = aWorld()
  const monitor = world.server('a', 5)
  world.lose(2)
  world.failOnce()
  await assert.rejects(monitor.compare(world.engine), /away/)
  await monitor.compare(world.engine)
  assert.deepEqual([monitor.openLoss?.fromIndex, monitor.openLoss?.toIndex], [4, 5])
})

test('losses: the reason for a refusal names the indexes, the cause and the command', () => {
  const text = describeRejectedWrites({ fromIndex: 4, toIndex: 5 }, 'db:5432/reeve')
  assert.match(
    text,
    /2 acknowledged commits \(index 4 to 5\) are missing from the database db:5432/,
  )
  assert.match(text, /Writes are refused.*run "reeve operator database accept-loss"/)
  assert.match(
    describeLoss({ fromIndex: 4, toIndex: 4 }, 'db'),
    /^1 acknowledged commit \(index 4\) is/,
  )
})

/** A log that can lose its end, and servers that have applied it. */
function aWorld() {
  let log: EntryId[] = []
  let appends = 0
  let isAway = false
  let losses: CommitLoss[] = []
  const logged: string[] = []
  const append = (count: number): void => {
    for (let n = 0; n < count; n++)
      log.push({ index: log.length + 1, term: 1, nonce: `n${++appends}` })
  }
  append(5)
  const store: LossStore = {
    list: async () => losses,
    record: async (loss) => {
      if (isAway) {
        isAway = false
        throw new Error('away')
      }
      const known = losses.find(({ id }) => id === loss.id)
      const next = { foundAtMs: losses.length, acceptedAtMs: undefined, ...known, ...loss }
      const fromIndex = Math.min(loss.fromIndex, known?.fromIndex ?? loss.fromIndex)
      const toIndex = Math.max(loss.toIndex, known?.toIndex ?? loss.toIndex)
      losses = [...losses.filter(({ id }) => id !== loss.id), { ...next, fromIndex, toIndex }]
    },
    accept: async () => {
      losses = losses.map((loss) => ({ ...loss, acceptedAtMs: 1 }))
      return losses
    },
  }
  const follow = ({ history }: LossMonitor, upTo = log.length): void => {
    for (const entry of log.slice(history.last.index, upTo)) history.add(entry)
  }
  return {
    store,
    logged,
    append,
    follow,
    get losses() {
      return losses
    },
    lose: (count: number) => void (log = log.slice(0, -count)),
    failOnce: () => void (isAway = true),
    engine: {
      refresh: async ({ index }: EntryId) => ({
        firstIndex: 1,
        lastIndex: log.length,
        checkpoint: { upTo: 0, tableIndexes: {} },
        entry: log[index - 1],
        losses: JSON.stringify(losses),
      }),
      entryIds: async (from: number, to: number) =>
        log.filter(({ index }) => index >= from && index <= to),
    },
    server: (name: string, applied: number): LossMonitor => {
      const monitor = new LossMonitor({
        store,
        database: 'db',
        name,
        log: { error: (_fields, message) => void logged.push(message) },
      })
      follow(monitor, applied)
      return monitor
    },
  }
}
