import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Input, Job } from '@reeve/contract'
import { ClockLoop, PeriodicLoop } from '../../src/control/index.ts'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import { namespacedKey, put, withDerivedRows } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { ofJob, PARAMETERIZED, register } from '../api/cluster.ts'
import { createTestServer, type TestServer } from '../api/harness.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

interface World {
  readonly server: TestServer
  readonly loop: PeriodicLoop
  /** Lets time pass, minute by minute or as said, and what is due happen. */
  readonly pass: (ms: number, stepMs?: number) => Promise<void>
  /** The children of a job, by the minute after the start of the clock that names them. */
  readonly launches: (jobId?: string) => readonly number[]
  readonly register: (job: Input<Job>) => Promise<void>
  readonly errors: unknown[]
}

interface WorldOptions {
  readonly disk?: MemoryDisk
  /** How much later than the test clock's start it is. */
  readonly laterMs?: number
}

async function aWorld({ disk = new MemoryDisk(), laterMs = 0 }: WorldOptions = {}): Promise<World> {
  const server = await createTestServer({ aclEnabled: false, disk })
  const startMs = server.clock.nowMs()
  server.clock.advance(laterMs)
  const { store, clock, ids } = server.context
  const errors: unknown[] = []
  const silent = (): void => undefined
  const log = { info: silent, warn: silent, error: (fields: object) => void errors.push(fields) }
  const loop = new PeriodicLoop({ store, clock, ids, log, utcOffsetAt: createTimeZoneOffset() })
  const settle = async (): Promise<void> => {
    for (let quiet = 0; quiet < 5; quiet++) {
      const before = store.index
      await store.whenDurable()
      await setImmediate()
      if (store.index !== before) quiet = 0
    }
  }
  loop.start()
  await settle()
  return {
    server,
    loop,
    errors,
    async pass(ms, stepMs = MINUTE_MS) {
      for (let left = ms; left > 0; left -= stepMs) {
        server.clock.advance(Math.min(left, stepMs))
        await settle()
      }
    },
    launches: (jobId = 'web') =>
      store.tables.jobs
        .rowsByIndex('parent', namespacedKey('default', jobId))
        .map(({ ID }) => (Number(ID.split('periodic-')[1]) * 1_000 - startMs) / MINUTE_MS)
        .toSorted((a, b) => a - b),
    async register(job) {
      await server.ok('registerJob', register({ Type: 'batch', ...job }))
      await settle()
    },
  }
}

/** The child has run and ended. */
async function end({ server }: World, childId: string): Promise<void> {
  const { store } = server.context
  const { durable } = store.commit({
    by: 'system',
    cause: undefined,
    changes: () =>
      withDerivedRows(
        store.tables,
        store.tables.evaluations
          .rowsByIndex('job', namespacedKey('default', childId))
          .map((row) => put('evaluations', { ...row, Status: 'complete' })),
      ),
  })
  await durable
}

const childAt = (minute: number): string => `web/periodic-${1_767_225_600 + minute * 60}`

test('periodic: children are launched when they are due, each with its evaluation', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '*/2 * * * *' }, Priority: 33 })
  await world.pass(5 * MINUTE_MS)
  assert.deepEqual(world.launches(), [2, 4])
  const { server } = world
  const child = await server.ok('readJob', ofJob(childAt(2)))
  assert.deepEqual([child.ParentID, child.Periodic, child.Status], ['web', null, 'pending'])
  const [evaluation] = await server.ok('listJobEvaluations', ofJob(childAt(2)))
  assert.deepEqual([evaluation?.TriggeredBy, evaluation?.Priority], ['periodic-job', 33])
  assert.equal(evaluation?.CreateIndex, child.CreateIndex)
  assert.deepEqual((await server.ok('readJobSummary', ofJob())).Children, {
    Pending: 2,
    Running: 0,
    Dead: 0,
  })
  assert.deepEqual(world.errors, [])
})

test('periodic: the launch and its record are one commit', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '* * * * *' } })
  await world.pass(MINUTE_MS)
  const { jobs, periodic_launches } = world.server.context.store.tables
  const key = namespacedKey('default', 'web')
  assert.equal(
    periodic_launches.modifyIndexOf(key),
    jobs.createIndexOf(namespacedKey('default', childAt(1))),
  )
})

test('periodic: of several specs each is followed', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Specs: ['1 * * * *', '3,4 * * * *'] } })
  await world.pass(10 * MINUTE_MS)
  assert.deepEqual(world.launches(), [1, 3, 4])
})

test('periodic: the time zone of the job counts', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '5 1 * * *', TimeZone: 'Europe/Berlin' } })
  await world.pass(10 * MINUTE_MS)
  assert.deepEqual(world.launches(), [5])
})

test('periodic: seconds are kept', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '*/20 * * * * * *' } })
  await world.pass(MINUTE_MS, SECOND_MS)
  assert.deepEqual(
    world.launches().map((minute) => Math.round(minute * 60)),
    [20, 40, 60],
  )
})

const never: readonly { name: string; job: Input<Job> }[] = [
  { name: 'a disabled job', job: { Periodic: { Spec: '* * * * *', Enabled: false } } },
  {
    name: 'one that waits for its dispatch',
    job: { ...PARAMETERIZED, Periodic: { Spec: '* * * * *' } },
  },
  { name: 'one of a year that is over', job: { Periodic: { Spec: '* * * * * 2020' } } },
  { name: 'one of a date that never comes', job: { Periodic: { Spec: '* * 30 2 *' } } },
]
for (const { name, job } of never)
  test(`periodic: ${name} is not launched`, async () => {
    const world = await aWorld()
    await world.register(job)
    await world.pass(3 * MINUTE_MS)
    assert.deepEqual(world.launches(), [])
    assert.deepEqual(world.errors, [])
  })

test('periodic: a dispatched child of a periodic job follows the schedule', async () => {
  const world = await aWorld()
  await world.register({ ...PARAMETERIZED, Periodic: { Spec: '* * * * *' } })
  const { DispatchedJobID } = await world.server.ok('dispatchJob', ofJob())
  await world.pass(2 * MINUTE_MS)
  assert.deepEqual(world.launches(DispatchedJobID), [1, 2])
})

// What happens to the parent

for (const purge of [false, true])
  test(`periodic: a job that is ${purge ? 'purged' : 'stopped'} is launched no more`, async () => {
    const world = await aWorld()
    await world.register({ Periodic: { Spec: '* * * * *' } })
    await world.pass(MINUTE_MS)
    await world.server.ok('stopJob', ofJob('web', { purge }))
    await world.pass(2 * MINUTE_MS)
    assert.deepEqual(world.launches(), [1])
    assert.equal((await world.server.ok('readJob', ofJob(childAt(1)))).Stop, false)
  })

test('periodic: one that is registered again begins anew and makes up for nothing', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '* * * * *' } })
  await world.server.ok('stopJob', ofJob())
  await world.pass(5 * MINUTE_MS)
  await world.register({ Periodic: { Spec: '* * * * *' } })
  await world.pass(MINUTE_MS)
  assert.deepEqual(world.launches(), [6])
})

test('periodic: another schedule counts from the time it is registered', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '@daily' } })
  await world.pass(3 * MINUTE_MS)
  await world.register({ Periodic: { Spec: '*/2 * * * *' } })
  await world.pass(3 * MINUTE_MS)
  assert.deepEqual(world.launches(), [4, 6])
})

test('periodic: a new version reaches later children only', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '* * * * *' }, Priority: 10 })
  await world.pass(MINUTE_MS)
  await world.register({ Periodic: { Spec: '* * * * *' }, Priority: 20 })
  await world.pass(MINUTE_MS)
  const priority = async (minute: number) =>
    (await world.server.ok('readJob', ofJob(childAt(minute)))).Priority
  assert.deepEqual([await priority(1), await priority(2)], [10, 20])
})

test('periodic: an update of something else loses no launch', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '* * * * *' }, Priority: 10 })
  await world.loop.stop()
  world.server.clock.advance(MINUTE_MS + 100)
  await world.register({ Periodic: { Spec: '* * * * *' }, Priority: 20 })
  const { store, clock, ids } = world.server.context
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  new PeriodicLoop({ store, clock, ids, log, utcOffsetAt: () => 0 }).start()
  await world.pass(SECOND_MS, SECOND_MS)
  assert.deepEqual(world.launches(), [1])
})

// Overlap

test('periodic: a launch is skipped while an earlier child runs, and not repeated', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '* * * * *', ProhibitOverlap: true } })
  await world.pass(3 * MINUTE_MS)
  assert.deepEqual(world.launches(), [1])
  await end(world, childAt(1))
  await world.pass(30 * SECOND_MS, SECOND_MS)
  assert.deepEqual(world.launches(), [1])
  await world.pass(30 * SECOND_MS, SECOND_MS)
  assert.deepEqual(world.launches(), [1, 4])
})

test('periodic: instances overlap where it is not prohibited', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '* * * * *' } })
  await world.pass(3 * MINUTE_MS)
  assert.deepEqual(world.launches(), [1, 2, 3])
})

// Restarts

test('periodic: after a restart the schedule continues', async () => {
  const disk = new MemoryDisk()
  const before = await aWorld({ disk })
  await before.register({ Periodic: { Spec: '*/5 * * * *' } })
  await before.pass(6 * MINUTE_MS)
  await before.loop.stop()
  await before.server.close()
  const world = await aWorld({ disk, laterMs: 7 * MINUTE_MS })
  assert.deepEqual(world.launches(), [5])
  await world.pass(4 * MINUTE_MS)
  assert.deepEqual(world.launches(), [5, 10])
})

test('periodic: what was missed while no server ran is made up for once, now', async () => {
  const disk = new MemoryDisk()
  const before = await aWorld({ disk })
  await before.register({ Periodic: { Spec: '*/5 * * * *' } })
  await before.loop.stop()
  await before.server.close()
  const world = await aWorld({ disk, laterMs: 3 * HOUR_MS + 2 * MINUTE_MS })
  assert.deepEqual(world.launches(), [182])
  await world.pass(10 * MINUTE_MS)
  assert.deepEqual(world.launches(), [182, 185, 190])
})

test('periodic: what was missed is not made up for while an earlier instance lives', async () => {
  const disk = new MemoryDisk()
  const before = await aWorld({ disk })
  await before.register({ Periodic: { Spec: '*/5 * * * *', ProhibitOverlap: true } })
  await before.pass(5 * MINUTE_MS)
  await before.loop.stop()
  await before.server.close()
  const world = await aWorld({ disk, laterMs: HOUR_MS + 2 * MINUTE_MS })
  assert.deepEqual(world.launches(), [5])
  await end(world, childAt(5))
  await world.pass(2 * MINUTE_MS)
  assert.deepEqual(world.launches(), [5], 'what was passed over is not due any more')
  await world.pass(MINUTE_MS)
  assert.deepEqual(world.launches(), [5, 65])
})

test('periodic: a server that is stopped launches nothing', async () => {
  const world = await aWorld()
  await world.register({ Periodic: { Spec: '* * * * *' } })
  await world.loop.stop()
  await world.pass(3 * MINUTE_MS)
  assert.deepEqual(world.launches(), [])
})

test('periodic: many jobs of one minute are all launched, and none twice', async () => {
  const world = await aWorld()
  for (let i = 0; i < 50; i++)
    await world.register({ ID: `job-${i}`, Periodic: { Spec: '* * * * *' } })
  await world.pass(2 * MINUTE_MS)
  const { jobs } = world.server.context.store.tables
  assert.equal(jobs.size, 50 + 100)
})

test('periodic: a schedule that changes again and again leaves one next launch', async () => {
  const world = await aWorld()
  const specs = ['@yearly', '@monthly']
  for (let i = 0; i < 40; i++) await world.register({ Periodic: { Spec: specs[i % 2] ?? '' } })
  await world.register({ Periodic: { Spec: '2 * * * *' } })
  await world.pass(5 * MINUTE_MS)
  assert.deepEqual(world.launches(), [2])
})

test('periodic: a clock that was ahead does not silence a schedule', async () => {
  const world = await aWorld()
  const { server, loop, pass, launches } = world
  const { store, clock } = server.context
  const warn = (): void => undefined
  const log = { info: warn, warn, error: warn }
  const clockLoop = new ClockLoop({ store, clock, log, copiesGlobalTokens: false })
  await world.register({ Periodic: { Spec: '0 * * * *' } })
  server.clock.jump(365 * 24 * HOUR_MS)
  await pass(HOUR_MS)
  const ahead = launches().length
  assert.ok(ahead > 0, 'it launches by the clock that is ahead')
  server.clock.jump(-365 * 24 * HOUR_MS)
  clockLoop.start()
  await pass(2 * HOUR_MS)
  assert.deepEqual(launches().slice(0, 2), [120, 180])
  clockLoop.stop()
  await loop.stop()
})
