import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { ServerRecord, ServerRegistry } from '../../src/cluster/index.ts'

/** A roll that nobody has signed, and its storage's clock. */
export interface RollHome {
  readonly store: ServerRegistry
  /** Time passes for the storage. */
  readonly pass: (ms: number) => void | Promise<void>
}

/** What every roll promises: the comments of `cluster/server-registry.ts`, one by one. */
export function serverRegistrySuite(
  name: string,
  makeHome: (t: TestContext) => RollHome | Promise<RollHome>,
): void {
  describe(`${name} roll`, () => {
    for (const [what, run] of Object.entries(cases))
      test(what, async (t) => await run(await makeHome(t)))
  })
}

const LIMITS = { failedMs: 60_000, retentionMs: 3_600_000 }

function anEntry(name: string, parts: Partial<ServerRecord> = {}): ServerRecord {
  const facts = { region: 'global', datacenter: 'dc1', build: '1.2.3', state: 'serving' } as const
  return { id: `process of ${name}`, name, address: `${name}:4646`, ...facts, ...parts }
}

async function idsOf(store: ServerRegistry): Promise<readonly string[]> {
  return (await store.list()).map(({ id }) => id).toSorted()
}

const cases: Readonly<Record<string, (home: RollHome) => Promise<void>>> = {
  'is empty at first': async ({ store }) => {
    assert.deepEqual(await store.list(), [])
  },

  'tells all that a server told': async ({ store }) => {
    await store.heartbeat(anEntry('a'), LIMITS)
    const [found, ...rest] = await store.list()
    const { sinceHeartbeatMs = -1, ...entry } = found ?? {}
    assert.deepEqual([entry, rest], [anEntry('a'), []])
    assert.ok(sinceHeartbeatMs >= 0 && sinceHeartbeatMs < LIMITS.failedMs)
  },

  'holds what a server told last': async ({ store }) => {
    await store.heartbeat(anEntry('a'), LIMITS)
    await store.heartbeat(anEntry('a', { address: 'a:1', state: 'leaving' }), LIMITS)
    const found = await store.list()
    assert.deepEqual(
      found.map(({ address, state }) => [address, state]),
      [['a:1', 'leaving']],
    )
  },

  'holds every server, and how long each was silent': async ({ store, pass }) => {
    await store.heartbeat(anEntry('a'), LIMITS)
    await pass(LIMITS.failedMs * 2)
    await store.heartbeat(anEntry('b'), LIMITS)
    const failed = (await store.list()).filter(
      ({ sinceHeartbeatMs }) => sinceHeartbeatMs > LIMITS.failedMs,
    )
    assert.deepEqual(
      failed.map(({ name }) => name),
      ['a'],
    )
    assert.equal((await store.list()).length, 2)
  },

  'takes signatures of many at once': async ({ store }) => {
    const names = Array.from({ length: 8 }, (_, n) => `server-${n}`)
    await Promise.all(names.map((name) => store.heartbeat(anEntry(name), LIMITS)))
    assert.equal((await store.list()).length, names.length)
  },

  'forgets a process whose address another has': async ({ store }) => {
    await store.heartbeat(anEntry('a', { id: 'before' }), LIMITS)
    await store.heartbeat(anEntry('renamed', { address: 'a:4646' }), LIMITS)
    assert.deepEqual(await idsOf(store), ['process of renamed'])
  },

  'forgets a process that has failed when its name is back elsewhere': async ({ store, pass }) => {
    await store.heartbeat(anEntry('a', { id: 'before' }), LIMITS)
    await store.heartbeat(anEntry('a', { id: 'after', address: 'a:1' }), LIMITS)
    assert.deepEqual(await idsOf(store), ['after', 'before'], 'both may run')
    await pass(LIMITS.failedMs + 1)
    await store.heartbeat(anEntry('a', { id: 'after', address: 'a:1' }), LIMITS)
    assert.deepEqual(await idsOf(store), ['after'])
  },

  'forgets a process that has left when its name is back elsewhere': async ({ store }) => {
    await store.heartbeat(anEntry('a', { id: 'before', state: 'left' }), LIMITS)
    await store.heartbeat(anEntry('a', { id: 'after', address: 'a:1' }), LIMITS)
    assert.deepEqual(await idsOf(store), ['after'])
  },

  'retires a server that has failed, and none that is alive': async ({ store, pass }) => {
    const { failedMs } = LIMITS
    await store.heartbeat(anEntry('a'), LIMITS)
    await store.retire('a', { prune: false, failedMs })
    assert.deepEqual(
      (await store.list()).map(({ state }) => state),
      ['serving'],
    )
    await pass(failedMs + 1)
    await store.heartbeat(anEntry('b'), LIMITS)
    await store.retire('a', { prune: false, failedMs })
    const states = (await store.list()).map(({ name, state }) => `${name} ${state}`)
    assert.deepEqual(states.toSorted(), ['a left', 'b serving'])
  },

  'removes a server that has left': async ({ store }) => {
    const { failedMs } = LIMITS
    await store.heartbeat(anEntry('a', { state: 'left' }), LIMITS)
    await store.heartbeat(anEntry('b'), LIMITS)
    await store.retire('a', { prune: true, failedMs })
    await store.retire('b', { prune: true, failedMs })
    assert.deepEqual(await idsOf(store), ['process of b'])
  },

  'forgets whoever was silent for long': async ({ store, pass }) => {
    await store.heartbeat(anEntry('a'), LIMITS)
    await store.heartbeat(anEntry('b', { state: 'left' }), LIMITS)
    await pass(LIMITS.retentionMs - 1_000)
    await store.heartbeat(anEntry('c'), LIMITS)
    assert.equal((await store.list()).length, 3)
    await pass(2_000)
    await store.heartbeat(anEntry('c'), LIMITS)
    assert.deepEqual(await idsOf(store), ['process of c'])
  },
}
