import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentMember } from '@reeve/contract'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { clusterLevel, put, Store } from '../../src/state/index.ts'
import { MemoryDisk, openMemoryEngine } from '../../src/storage/index.ts'
import { agentMember, assertClusterLevel, ensureBuiltIns } from '../../src/workload/index.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const READ = 'readClusterLevel'
const RAISE = 'raiseClusterLevel'

function aMember(name: string, build: string, status: AgentMember['Status'] = 'alive') {
  const rest = { region: 'global', address: '127.0.0.1:4646', Status: status, Tags: { build } }
  return agentMember({ name, ...rest })
}

/** The first one is the server that is asked. */
async function aCluster(...members: readonly [AgentMember, ...AgentMember[]]) {
  const agent = { member: () => members[0], members: () => members }
  return await createTestServer({ aclEnabled: false, agent })
}

async function levelsOf(server: TestServer): Promise<readonly string[]> {
  const { Level, Possible } = await server.ok(READ)
  return [Level, Possible]
}

test('cluster level: finishing an upgrade raises it, once all servers are new', async () => {
  const members = [aMember('a', '0.2.0'), aMember('b', '0.1.3')] as const
  const cluster = await aCluster(...members)
  assert.deepEqual(await levelsOf(cluster), ['0.1', '0.1'])
  const { status, text } = await cluster.call(RAISE)
  assert.equal(status, 400)
  assert.match(text, /b\.global runs Reeve 0\.1\.3, the leader 0\.2\.0: upgrade it first/)
  assert.deepEqual(await levelsOf(cluster), ['0.1', '0.1'])

  const upgraded = await aCluster(aMember('a', '0.2.0'), aMember('b', '0.2.1'))
  assert.deepEqual(await levelsOf(upgraded), ['0.1', '0.2'])
  const { Level, Index } = await upgraded.ok(RAISE)
  assert.equal(Level, '0.2')
  assert.deepEqual(await levelsOf(upgraded), ['0.2', '0.2'])
  // The second time nothing is written.
  assert.equal((await upgraded.ok(RAISE)).Index, Index)
})

test('cluster level: a failed server counts, one that has left does not', async () => {
  const failed = await aCluster(aMember('a', '0.2.0'), aMember('b', '0.1.0', 'failed'))
  assert.equal((await failed.call(RAISE)).status, 400)
  const left = await aCluster(aMember('a', '0.2.0'), aMember('b', '0.1.0', 'left'))
  assert.equal((await left.ok(RAISE)).Level, '0.2')
})

test('cluster level: an older program does not start after the upgrade is finished', async () => {
  const server = await aCluster(aMember('a', '0.2.0'))
  const { store } = server.context
  assertClusterLevel(store, '0.1.9')
  await server.ok(RAISE)
  assert.throws(() => assertClusterLevel(store, '0.1.9'), {
    kind: 'storage-version',
    message:
      /cluster level of this state is 0\.2, and this is Reeve 0\.1\.9.*Nothing was changed\.$/,
  })
  for (const build of ['0.2.0', '0.3.1', 'unknown']) assertClusterLevel(store, build)
})

test('cluster level: a version that skips one does not start', async () => {
  const { context } = await aCluster(aMember('a', '0.1.0'))
  assert.throws(() => assertClusterLevel(context.store, '0.3.0'), {
    kind: 'storage-version',
    message: /one minor version at a time.*reeve operator upgrade finish/,
  })
})

test('cluster level: new state has that of its first program, which later ones keep', async () => {
  const engine = openMemoryEngine({ disk: new MemoryDisk() })
  const store = await Store.open({ engine, clock: new SimulatedClock() })
  assertClusterLevel(store, '0.3.0')
  await ensureBuiltIns({ store }, '0.3.0')
  assert.equal(clusterLevel(store.tables), '0.3')
  await ensureBuiltIns({ store }, '0.4.0')
  assert.equal(clusterLevel(store.tables), '0.3')
})

test('cluster level: a table of the next version is written only once the upgrade is finished', async () => {
  const server = await aCluster(aMember('a', '0.2.0'))
  const { store } = server.context
  // As the next version would declare a table that it adds.
  const { spec } = store.tables.periodic_launches
  const restore = { ...spec }
  Object.assign(spec, { since: '0.2' })
  try {
    const write = async (): Promise<void> => {
      const row = { Namespace: 'default', ID: 'nightly', Done: 1 }
      const indexes = { CreateIndex: 0, ModifyIndex: 0 }
      const change = put('periodic_launches', { ...row, ...indexes })
      await store.commit({ by: 'system', cause: undefined, changes: () => [change] }).durable
    }
    const { index } = store
    await assert.rejects(write, {
      kind: 'cluster-level',
      message:
        /needs cluster level 0\.2, and the level is 0\.1: run "reeve operator upgrade finish"/,
    })
    assert.equal(store.index, index, 'nothing was written')
    // The program before may still start: this is the way back.
    assertClusterLevel(store, '0.1.9')
    await server.ok(RAISE)
    await write()
    assert.throws(() => assertClusterLevel(store, '0.1.9'), { kind: 'storage-version' })
  } finally {
    Reflect.deleteProperty(Object.assign(spec, restore), 'since')
  }
})

test('cluster level: needs operator rights', async () => {
  const { server, as, client } = await aSecuredServer()
  const writer = await client('operator { policy = "write" }')
  const reader = await client('operator { policy = "read" }')
  assert.equal((await server.call(READ, as(reader))).status, 200)
  assert.equal((await server.call(RAISE, as(reader))).status, 403)
  assert.notEqual((await server.call(RAISE, as(writer))).status, 403)
  assert.equal((await server.call(READ)).status, 403)
})
