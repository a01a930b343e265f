import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeSessions, purgeNode } from '../../src/workload/index.ts'
import { anId } from '../build/index.ts'
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
  const purged = await purgeNode(server.context, anId('node', 1))
  assert.ok(purged.ok)
  assert.deepEqual(closed, [anId('node', 1)])
})
