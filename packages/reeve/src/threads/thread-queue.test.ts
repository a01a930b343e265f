import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '@reeve/kit/clock.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import {
  IDLE_BYTES_MAX,
  IDLE_MS,
  ThreadQueue,
  type ThreadLimits,
  type ThreadResult,
} from './thread-queue.ts'

const LIMITS: ThreadLimits = {
  timeoutMs: 60_000,
  megabytesMax: 64,
  waitingMax: 100,
  waitingPerTenantMax: 40,
  waitMsMax: 10_000,
}

/** A queue on a real thread, with a clock that moves only when told. */
function aQueue(limits: Partial<ThreadLimits> = {}) {
  let nowMs = 0
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    after: () => () => undefined,
  }
  const queue = new ThreadQueue<string, string>({
    clock,
    file: new URL('../../test/build/echo-worker.ts', import.meta.url),
    description: 'repeats texts',
    limits: { ...LIMITS, ...limits },
  })
  const done: string[] = []
  const run = async (tenant: string, task: string): Promise<ThreadResult<string>> => {
    const result = await queue.run(() => task, { tenant })
    if (result.kind === 'done') done.push(result.outcome)
    return result
  }
  return { queue, run, done, pass: (ms: number) => (nowMs += ms) }
}

function tasks(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${name}${at}`)
}

test('ThreadQueue: a thread whose file an upgrade has removed is a fault that says so', async () => {
  const clock: Clock = { nowMs: () => 0, monotonicMs: () => 0, after: () => () => undefined }
  const file = new URL('./removed-by-an-upgrade.js', import.meta.url)
  const queue = new ThreadQueue({ clock, file, description: 'is gone', limits: LIMITS })
  await assert.rejects(
    queue.run(() => 'task', { tenant: 'a' }),
    { name: 'Fault', kind: 'program-replaced', message: /was upgraded or damaged\. Restart it\.$/ },
  )
  await queue.stop()
})

test('ThreadQueue: a tenant with one task is second behind the backlog of another', async () => {
  const { queue, run, done } = aQueue()
  const backlog = tasks('a', 40).map((task) => run('a', task))
  await run('b', 'b0')
  assert.deepEqual(done.slice(0, 2), ['a0', 'b0'])
  await Promise.all(backlog)
  assert.deepEqual(
    done.filter((task) => task !== 'b0'),
    tasks('a', 40),
  )
  await queue.stop()
})

test('ThreadQueue: a tenant with long tasks gets fewer turns', async () => {
  const { queue, run, done, pass } = aQueue()
  // The first task of the tenant takes ten turns of thread time.
  const first = queue.run(
    () => {
      queueMicrotask(() => pass(500))
      return 'slow'
    },
    { tenant: 'a' },
  )
  const others = [
    ...tasks('a', 2).map((task) => run('a', task)),
    ...tasks('b', 5).map((task) => run('b', task)),
  ]
  await first
  await Promise.all(others)
  assert.deepEqual(done, ['b0', 'b1', 'b2', 'b3', 'b4', 'a0', 'a1'])
  await queue.stop()
})

for (const { name, limits, counts, rejected } of [
  { name: 'a tenant at its limit', limits: {}, counts: { a: 40 }, rejected: [] },
  { name: 'a tenant past its limit', limits: {}, counts: { a: 41 }, rejected: ['a40 tenant-full'] },
  {
    name: 'another tenant beside it',
    limits: {},
    counts: { a: 41, b: 1 },
    rejected: ['a40 tenant-full'],
  },
  { name: 'all at the limit', limits: { waitingMax: 4 }, counts: { a: 2, b: 2 }, rejected: [] },
  {
    name: 'all past the limit',
    limits: { waitingMax: 4 },
    counts: { a: 2, b: 2, c: 1 },
    rejected: ['c0 full'],
  },
])
  test(`ThreadQueue: ${name}`, async () => {
    const { queue, run } = aQueue(limits)
    const asked = Object.entries(counts).flatMap(([tenant, count]) => tasks(tenant, count))
    const results = await Promise.all(asked.map((task) => run(task.slice(0, 1), task)))
    const found = results.flatMap((result, at) =>
      result.kind === 'overloaded' ? [`${asked[at]} ${result.cause}`] : [],
    )
    assert.deepEqual(found, rejected)
    await queue.stop()
  })

for (const { name, waitedMs, kind } of [
  { name: 'a task that waited as long as it may is run', waitedMs: 10_000, kind: 'done' },
  { name: 'a task that waited longer is dropped', waitedMs: 10_001, kind: 'overloaded' },
])
  test(`ThreadQueue: ${name}`, async () => {
    const { queue, run, pass } = aQueue()
    // The thread is still loading, so the task waits.
    const waiting = run('a', 'a0')
    pass(waitedMs)
    assert.equal((await waiting).kind, kind)
    await queue.stop()
  })

test('ThreadQueue: a cancelled task is not started, and frees its place in the queue', async () => {
  const { queue, run, done } = aQueue({ waitingPerTenantMax: 2 })
  const caller = new AbortController()
  const gone = queue.run(() => assert.fail('it was started'), {
    tenant: 'a',
    signal: caller.signal,
  })
  const stays = run('a', 'a1')
  caller.abort()
  await assert.rejects(gone, { kind: 'cancelled' })
  const next = run('a', 'a2')
  await Promise.all([stays, next])
  assert.deepEqual(done, ['a1', 'a2'])
  await assert.rejects(
    queue.run(() => 'late', { tenant: 'a', signal: caller.signal }),
    {
      kind: 'cancelled',
    },
  )
  await queue.stop()
})

for (const { name, bytes, isIdle, ends } of [
  { name: 'an idle thread that holds much memory ends', bytes: 1, isIdle: true, ends: true },
  { name: 'an idle thread that holds little stays', bytes: 0, isIdle: true, ends: false },
  { name: 'a thread with another task in time stays', bytes: 1, isIdle: false, ends: false },
])
  test(`ThreadQueue: ${name}`, async () => {
    const clock = new SimulatedClock()
    const queue = new ThreadQueue<number, number>({
      clock,
      file: new URL('../../test/build/hoarding-worker.ts', import.meta.url),
      description: 'keeps bytes',
      limits: LIMITS,
    })
    const run = () => queue.run(() => bytes * IDLE_BYTES_MAX, { tenant: 'a' })
    assert.equal(queue.hasThread, false)
    await run()
    clock.advance(IDLE_MS - 1)
    assert.equal(queue.hasThread, true)
    if (!isIdle) await run()
    clock.advance(1)
    assert.equal(queue.hasThread, !ends)
    assert.equal((await run()).kind, 'done')
    await queue.stop()
  })
