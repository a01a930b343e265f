import assert from 'node:assert/strict'
import { test } from 'node:test'
import { err } from '@reeve/kit/result.ts'
import { refusal, type AllocationRow } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { DataMigrations } from '../../src/sessions/index.ts'
import { createTestServer } from '../api/harness.ts'
import { aGroup, aJob, anAllocation, anId } from '../build/index.ts'
import { until } from '../build/until.ts'

const OWN = anId('node', 1)
const OTHER = anId('node', 2)

interface World {
  /** Fields of the allocation that asks, and of the one before it. */
  readonly next?: Partial<AllocationRow>
  readonly before?: Partial<AllocationRow>
  readonly Migrate?: boolean
}

/** A node asks for data; what is told to it, and which nodes were asked. */
async function aQuestion({ next = {}, before = {}, Migrate = true }: World) {
  const server = await createTestServer({ aclEnabled: false })
  const EphemeralDisk = { Sticky: false, SizeMB: 300, Migrate }
  const job = aJob({ TaskGroups: [{ ...aGroup(), EphemeralDisk }] })
  const old = anAllocation({ job, ID: anId('alloc', 1), NodeID: OTHER, ...before })
  const own = anAllocation({
    job,
    ID: anId('alloc', 2),
    NodeID: OWN,
    PreviousAllocation: old.ID,
    ...next,
  })
  const { store } = server.context
  const rows = [put('job_versions', job), put('allocations', old), put('allocations', own)]
  await store.commit({ by: 'system', cause: undefined, changes: () => rows }).durable
  const told: string[] = []
  const asked: string[] = []
  const migrations = new DataMigrations({
    context: server.context,
    gateway: {
      request: () => Promise.resolve(err(refusal('node-unreachable', 'unused'))),
      open: (nodeId, { request }) => {
        asked.push(`${nodeId} ${request.verb}`)
        return Promise.resolve(err(refusal('node-unreachable', 'No path to node')))
      },
    },
  })
  const session = {
    nodeId: OWN,
    send: (text: string) => told.push(JSON.parse(text).reason),
    close: () => undefined,
  }
  migrations.request(session, own.ID)
  return { server, store, old, migrations, session, told, asked }
}

const DONE = { ClientStatus: 'complete' } as const
const REFUSED: readonly (readonly [string, World, string])[] = [
  ['another node’s allocation', { next: { NodeID: OTHER } }, 'the allocation is not of this node'],
  ['none before it', { next: { PreviousAllocation: '' } }, 'there is no allocation before it'],
  ['one of another job', { before: { JobID: 'other' } }, 'there is no allocation before it'],
  ['one of another group', { before: { TaskGroup: 'b' } }, 'there is no allocation before it'],
  ['one of another namespace', { before: { Namespace: 'b' } }, 'there is no allocation before it'],
  ['a group that asks for none', { Migrate: false }, 'its group does not ask for data'],
]
for (const [name, world, reason] of REFUSED) {
  test(`migrate data: with ${name} nothing is brought`, async () => {
    const { told, asked } = await aQuestion({ ...world, before: { ...DONE, ...world.before } })
    await until('the answer', () => told[0])
    assert.deepEqual([told, asked], [[reason], []])
  })
}

test('migrate data: the node of the one before is asked when that has ended, and not earlier', async () => {
  const { store, old, told, asked } = await aQuestion({ before: { ClientStatus: 'running' } })
  assert.deepEqual([told, asked], [[], []])
  const ended = put('allocations', { ...old, ...DONE })
  await store.commit({ by: 'system', cause: undefined, changes: () => [ended] }).durable
  await until('the answer', () => told[0])
  assert.deepEqual([told, asked], [['No path to node'], [`${OTHER} data`]])
})

test('migrate data: one that does not end is given up', async () => {
  const { server, told } = await aQuestion({ before: { ClientStatus: 'running' } })
  server.clock.advance(60 * 60_000)
  await until('the answer', () => told[0])
  assert.deepEqual(told, ['the allocation before it did not end in time'])
})

test('migrate data: nothing is sent to a node that has left', async () => {
  const world = await aQuestion({ before: { ClientStatus: 'running' } })
  world.migrations.onSessionClosed(world.session)
  const ended = put('allocations', { ...world.old, ...DONE })
  await world.store.commit({ by: 'system', cause: undefined, changes: () => [ended] }).durable
  await world.store.whenDurable()
  assert.deepEqual([world.told, world.asked], [[], []])
})
