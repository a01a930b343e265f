import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { LeaseStore } from '../../src/cluster/index.ts'

/** A lease that nobody ever held, and its storage's clock. */
export interface LeaseHome {
  readonly store: LeaseStore
  /** Time passes for the storage. */
  readonly pass: (ms: number) => void | Promise<void>
}

/** What every lease promises: the comments of `cluster/lease.ts`, one by one. */
export function leaseStoreSuite(
  name: string,
  makeHome: (t: TestContext) => LeaseHome | Promise<LeaseHome>,
): void {
  describe(`${name} lease`, () => {
    for (const [what, run] of Object.entries(cases))
      test(what, async (t) => await run(await makeHome(t)))
  })
}

const TTL_MS = 60_000
const a = { holder: 'a', address: '10.0.0.1:4646', ttlMs: TTL_MS }
const b = { holder: 'b', address: '10.0.0.2:4646', ttlMs: TTL_MS }

const cases: Readonly<Record<string, (home: LeaseHome) => Promise<void>>> = {
  'is nobody’s at first': async ({ store }) => {
    assert.deepEqual(await store.read(), { term: 0, holder: '', address: '', remainingMs: 0 })
  },

  'belongs to the first who asks, and to nobody else while it lasts': async ({ store }) => {
    assert.deepEqual(await store.acquire(a), { term: 1 })
    assert.equal(await store.acquire(b), undefined)
    const found = await store.read()
    assert.equal(found.holder, 'a')
    assert.equal(found.address, a.address)
    assert.ok(found.remainingMs > 0 && found.remainingMs <= TTL_MS)
  },

  'goes to one of many who ask at once': async ({ store }) => {
    const claims = Array.from({ length: 8 }, (_, n) => ({ ...a, holder: `server ${n}` }))
    const taken = await Promise.all(claims.map((claim) => store.acquire(claim)))
    assert.deepEqual(
      taken.filter((held) => held !== undefined),
      [{ term: 1 }],
    )
  },

  'may be taken again by its holder, in a new term': async ({ store }) => {
    await store.acquire(a)
    assert.deepEqual(await store.acquire(a), { term: 2 })
    assert.equal(await store.renew({ term: 1 }, a), false)
    assert.equal(await store.renew({ term: 2 }, a), true)
  },

  'goes to another in a new term when it has run out': async ({ store, pass }) => {
    await store.acquire(a)
    await pass(TTL_MS + 1)
    assert.equal((await store.read()).remainingMs, 0)
    assert.deepEqual(await store.acquire(b), { term: 2 })
    assert.equal(await store.renew({ term: 1 }, a), false, 'it never comes back')
    assert.equal((await store.read()).holder, 'b')
  },

  'lasts longer when it is renewed': async ({ store, pass }) => {
    await store.acquire(a)
    await pass(TTL_MS * 0.9)
    assert.equal(await store.renew({ term: 1 }, a), true)
    await pass(TTL_MS * 0.9)
    assert.equal(await store.acquire(b), undefined)
  },

  'is not renewed when it has run out, even while nobody has taken it': async ({ store, pass }) => {
    await store.acquire(a)
    await pass(TTL_MS + 1)
    assert.equal(await store.renew({ term: 1 }, a), false)
    assert.equal((await store.read()).remainingMs, 0)
    assert.deepEqual(await store.acquire(b), { term: 2 })
  },

  'is free at once when it is given back': async ({ store }) => {
    await store.acquire(a)
    await store.release({ term: 1 })
    const { remainingMs, address } = await store.read()
    assert.deepEqual({ leftMs: remainingMs, address }, { leftMs: 0, address: '' })
    assert.deepEqual(await store.acquire(b), { term: 2 })
  },

  'stays with its holder when another gives back an older one': async ({ store, pass }) => {
    await store.acquire(a)
    await pass(TTL_MS + 1)
    await store.acquire(b)
    await store.release({ term: 1 })
    assert.equal(await store.acquire(a), undefined)
  },
}
