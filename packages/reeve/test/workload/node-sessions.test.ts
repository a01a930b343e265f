import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DesiredMessage } from '@reeve/contract'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import { put } from '../../src/state/index.ts'
import { purgeNode } from '../../src/workload/index.ts'
import { NodeSessions } from '../../src/sessions/index.ts'
import { aJob, anAllocation, anId } from '../build/index.ts'
import { putNode } from '../api/cluster.ts'
import { createTestServer } from '../api/harness.ts'

test('node sessions: a node that is purged loses its channel, others keep theirs', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const sessions = new NodeSessions(server.context.store)
  const closed: string[] = []
  for (const number of [1, 2]) {
    const nodeId = anId('node', number)
    await putNode(server, { ID: nodeId })
    sessions.attach({ nodeId, send: () => undefined, close: () => void closed.push(nodeId) })
  }
  const purged = await purgeNode(server.context, { by: 'system' }, anId('node', 1))
  assert.ok(purged.ok)
  assert.deepEqual(closed, [anId('node', 1)])
})

test('node sessions: a node that was given up while it said hello has to say it again', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const sessions = new NodeSessions(server.context.store)
  const nodeId = anId('node', 1)
  await putNode(server, { ID: nodeId, Status: 'down' })
  const said: string[] = []
  sessions.attach({
    nodeId,
    send: (text) => said.push(joinChunks(text)),
    close: () => void said.push('closed'),
  })
  assert.deepEqual(said, ['closed'])
  assert.equal(sessions.isConnected(nodeId), false)
})

/** Sessions whose next turn comes when the test says so, with the ids that each node was told. */
async function someSessions(nodes: number) {
  const server = await createTestServer({ aclEnabled: false })
  const { store } = server.context
  const turns: (() => void)[] = []
  const sessions = new NodeSessions(store, (work) => turns.push(work))
  const told = new Map<string, string[][]>()
  const note = (nodeId: string, text: string): void => {
    // The sessions send nothing else.
    const { allocations } = JSON.parse(text) as DesiredMessage
    if (allocations.length > 0)
      told.get(nodeId)?.push(allocations.map(({ allocation }) => allocation.ID))
  }
  await store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('job_versions', aJob())],
  }).durable
  for (let number = 1; number <= nodes; number++) {
    const nodeId = anId('node', number)
    told.set(nodeId, [])
    await putNode(server, { ID: nodeId })
    sessions.attach({
      nodeId,
      send: (text) => note(nodeId, joinChunks(text)),
      close: () => undefined,
    })
  }
  const place = (alloc: number, node: number) =>
    store.commit({
      by: 'system',
      cause: 'PlanResult',
      changes: ({ index }) => [put('allocations', anAllocationOn(alloc, node, index))],
    })
  return { server, turns, told, place }
}

function anAllocationOn(alloc: number, node: number, AllocModifyIndex: number) {
  const [ID, NodeID] = [anId('alloc', alloc), anId('node', node)]
  return anAllocation({ job: aJob(), ID, NodeID, AllocModifyIndex })
}

test('node sessions: a node gets changes as soon as they are durable, and not before', async () => {
  const { server, told, place } = await someSessions(1)
  const held = server.engine.faultInjector.blockNext()
  const { durable } = place(1, 1)
  await held.started
  assert.deepEqual(told.get(anId('node', 1)), [])
  held.release()
  await durable
  assert.deepEqual(told.get(anId('node', 1)), [[anId('alloc', 1)]])
})

test('node sessions: a listing waits until all of it is durable, and changes wait for it', async () => {
  const { server, place } = await someSessions(2)
  const held = server.engine.faultInjector.blockNext()
  const first = place(1, 2).durable
  await held.started
  const texts: string[] = []
  const sessions = new NodeSessions(server.context.store)
  sessions.attach({
    nodeId: anId('node', 2),
    send: (text) => texts.push(joinChunks(text)),
    close: () => undefined,
  })
  const second = place(2, 2).durable
  assert.deepEqual(texts, [], 'a crash could still take it back')
  held.release()
  await first
  await second
  // The sessions send nothing else.
  const messages = texts.map((text) => JSON.parse(text) as DesiredMessage)
  const told = messages.map(({ full, allocations }) => [
    full,
    allocations.map(({ allocation }) => allocation.ID),
  ])
  assert.deepEqual(told[0], [true, [anId('alloc', 1)]])
  assert.deepEqual(told.at(-1), [false, [anId('alloc', 2)]])
})

test('node sessions: many nodes are notified in batches, with the changes made meanwhile', async () => {
  const nodes = 100
  const { turns, told, place } = await someSessions(nodes)
  const messages = (): number => [...told.values()].flat().length
  const placed = Array.from({ length: nodes }, (_, i) => place(i + 1, i + 1).durable)
  await Promise.all(placed)
  assert.ok(messages() < nodes)
  await place(nodes + 1, nodes).durable
  while (turns.length > 0) turns.shift()?.()
  assert.equal(messages(), nodes)
  assert.deepEqual(told.get(anId('node', nodes)), [
    [anId('alloc', nodes), anId('alloc', nodes + 1)],
  ])
})
