import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { RollEntry, RollStore } from '../../src/cluster/index.ts'

/** A roll that nobody has signed, and its storage's clock. */
export interface RollHome {
  readonly store: RollStore
  /** Time passes for the storage. */
  readonly pass: (ms: number) => void | Promise<void>
}

/** What every roll promises: the comments of `cluster/roll-store.ts`, one by one. */
export function rollStoreSuite(
  name: string,
  makeHome: (t: TestContext) => RollHome | Promise<RollHome>,
): void {
  describe(`${name} roll`, () => {
    for (const [what, run] of Object.entries(cases))
      test(what, async (t) => await run(await makeHome(t)))
  })
}

const LIMITS = { failedMs: 60_000, forgetMs: 3_600_000 }

function anEntry(name: string, parts: Partial<RollEntry> = {}): RollEntry {
  const facts = { region: 'global', datacenter: 'dc1', build: '1.2.3', state: 'serving' } as const
  return { id: `process of ${name}`, name, address: `${name}:4646`, ...facts, ...parts }
}

async function idsOf(store: RollStore): Promise<readonly string[]> {
  return (await store.read()).map(({ id }) => id).toSorted()
}

const cases: Readonly<Record<string, (home: RollHome) => Promise<void>>> = {
  'is empty at first': async ({ store }) => {
    assert.deepEqual(await store.read(), [])
  },

  'tells all that a server told': async ({ store }) => {
    await store.sign(anEntry('a'), LIMITS)
    const [found, ...rest] = await store.read()
    const { silentMs = -1, ...entry } = found ?? {}
    assert.deepEqual([entry, rest], [anEntry('a'), []])
    assert.ok(silentMs >= 0 && silentMs < LIMITS.failedMs)
  },

  'holds what a server told last': async ({ store }) => {
    await store.sign(anEntry('a'), LIMITS)
    await store.sign(anEntry('a', { address: 'a:1', state: 'leaving' }), LIMITS)
    const found = await store.read()
    assert.deepEqual(
      found.map(({ address, state }) => [address, state]),
      [['a:1', 'leaving']],
    )
  },

  'holds every server, and how long each was silent': async ({ store, pass }) => {
    await store.sign(anEntry('a'), LIMITS)
    await pass(LIMITS.failedMs * 2)
    await store.sign(anEntry('b'), LIMITS)
    const failed = (await store.read()).filter(({ silentMs }) => silentMs > LIMITS.failedMs)
    assert.deepEqual(
      failed.map(({ name }) => name),
      ['a'],
    )
    assert.equal((await store.read()).length, 2)
  },

  'takes signatures of many at once': async ({ store }) => {
    const names = Array.from({ length: 8 }, (_, n) => `server-${n}`)
    await Promise.all(names.map((name) => store.sign(anEntry(name), LIMITS)))
    assert.equal((await store.read()).length, names.length)
  },

  'forgets a process whose address another has': async ({ store }) => {
    await store.sign(anEntry('a', { id: 'before' }), LIMITS)
    await store.sign(anEntry('renamed', { address: 'a:4646' }), LIMITS)
    assert.deepEqual(await idsOf(store), ['process of renamed'])
  },

  'forgets a process that has failed when its name is back elsewhere': async ({ store, pass }) => {
    await store.sign(anEntry('a', { id: 'before' }), LIMITS)
    await store.sign(anEntry('a', { id: 'after', address: 'a:1' }), LIMITS)
    assert.deepEqual(await idsOf(store), ['after', 'before'], 'both may run')
    await pass(LIMITS.failedMs + 1)
    await store.sign(anEntry('a', { id: 'after', address: 'a:1' }), LIMITS)
    assert.deepEqual(await idsOf(store), ['after'])
  },

  'forgets a process that has left when its name is back elsewhere': async ({ store }) => {
    await store.sign(anEntry('a', { id: 'before', state: 'left' }), LIMITS)
    await store.sign(anEntry('a', { id: 'after', address: 'a:1' }), LIMITS)
    assert.deepEqual(await idsOf(store), ['after'])
  },

  'retires a server that has failed, and none that is alive': async ({ store, pass }) => {
    const { failedMs } = LIMITS
    await store.sign(anEntry('a'), LIMITS)
    await store.retire('a', { prune: false, failedMs })
    assert.deepEqual(
      (await store.read()).map(({ state }) => state),
      ['serving'],
    )
    await pass(failedMs + 1)
    await store.sign(anEntry('b'), LIMITS)
    await store.retire('a', { prune: false, failedMs })
    const states = (await store.read()).map(({ name, state }) => `${name} ${state}`)
    assert.deepEqual(states.toSorted(), ['a left', 'b serving'])
  },

  'removes a server that has left': async ({ store }) => {
    const { failedMs } = LIMITS
    await store.sign(anEntry('a', { state: 'left' }), LIMITS)
    await store.sign(anEntry('b'), LIMITS)
    await store.retire('a', { prune: true, failedMs })
    await store.retire('b', { prune: true, failedMs })
    assert.deepEqual(await idsOf(store), ['process of b'])
  },

  'forgets whoever was silent for long': async ({ store, pass }) => {
    await store.sign(anEntry('a'), LIMITS)
    await store.sign(anEntry('b', { state: 'left' }), LIMITS)
    await pass(LIMITS.forgetMs - 1_000)
    await store.sign(anEntry('c'), LIMITS)
    assert.equal((await store.read()).length, 3)
    await pass(2_000)
    await store.sign(anEntry('c'), LIMITS)
    assert.deepEqual(await idsOf(store), ['process of c'])
  },
}
