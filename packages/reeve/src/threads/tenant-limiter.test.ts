import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TenantConcurrencyLimiter, type ConcurrencyLimits } from './tenant-limiter.ts'

const LIMITS: ConcurrencyLimits = {
  runningMax: 2,
  waitingPerTenantMax: 3,
  waitingMax: 5,
  waitMsMax: 1_000,
}

/** Work that lasts until it is told to end, in a gate with a clock that moves only when told. */
function aGate(limits: Partial<ConcurrencyLimits> = {}) {
  let nowMs = 0
  const gate = new TenantConcurrencyLimiter({ monotonicMs: () => nowMs }, { ...LIMITS, ...limits })
  const running: string[] = []
  const ends = new Map<string, () => void>()
  const run = (name: string, signal?: AbortSignal) =>
    gate.run({ tenant: name.slice(0, 1), signal }, async () => {
      running.push(name)
      await new Promise<void>((end) => ends.set(name, end))
      running.splice(running.indexOf(name), 1)
      return name
    })
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.()
    // The work that follows is started by promises alone.
    await new Promise((turn) => setImmediate(turn))
  }
  return { run, end, running, pass: (ms: number) => (nowMs += ms) }
}

test('TenantConcurrencyLimiter: one work item per tenant at a time, tenants in turn', async () => {
  const { run, end, running } = aGate()
  const works = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name) => run(name))
  await end('')
  assert.deepEqual(running, ['a1', 'b1'])
  works.push(run('c1'))
  await end('a1')
  assert.deepEqual(running, ['b1', 'a2'])
  await end('a2')
  assert.deepEqual(running, ['b1', 'c1'])
  for (const name of ['c1', 'b1', 'b2', 'a3']) await end(name)
  const results = await Promise.all(works)
  assert.ok(results.every((result) => result.ok))
})

for (const { name, works, rejected } of [
  { name: 'a tenant at its limit', works: ['a1', 'a2', 'a3', 'a4'], rejected: [] },
  { name: 'a tenant past it', works: ['a1', 'a2', 'a3', 'a4', 'a5'], rejected: ['tenant-full'] },
  {
    name: 'another tenant beside it',
    works: ['a1', 'a2', 'a3', 'a4', 'a5', 'b1'],
    rejected: ['tenant-full'],
  },
  {
    name: 'all past the limit',
    works: ['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', 'd1'],
    rejected: ['full'],
  },
])
  test(`TenantConcurrencyLimiter: ${name}`, async () => {
    const { run, end } = aGate()
    const results = works.map((work) => run(work))
    for (let round = 0; round < works.length; round++) for (const work of works) await end(work)
    const settled = await Promise.all(results)
    assert.deepEqual(
      settled.flatMap((result) => (result.ok ? [] : [result.error])),
      rejected,
    )
  })

test('TenantConcurrencyLimiter: expired work is rejected, and the next is started', async () => {
  const { run, end, running, pass } = aGate()
  const first = run('a1')
  const late = run('a2')
  await end('')
  pass(1_001)
  const next = run('a3')
  await end('a1')
  assert.deepEqual(running, ['a3'])
  assert.deepEqual(await late, { ok: false, error: 'waited-too-long' })
  await end('a3')
  assert.deepEqual([(await first).ok, (await next).ok], [true, true])
})

test('TenantConcurrencyLimiter: cancelled work frees its place in the queue', async () => {
  const { run, end, running } = aGate()
  const caller = new AbortController()
  const first = run('a1')
  const gone = run('a2', caller.signal)
  caller.abort()
  await assert.rejects(gone, { kind: 'cancelled' })
  await end('a1')
  assert.deepEqual([running, (await first).ok], [[], true])
})
