import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { diskStorage, websocketDialer } from '../../src/agent/index.ts'
import { EvaluationLoop } from '../../src/control/index.ts'
import { RawExecDriver } from '../../src/drivers/index.ts'
import type { AllocationRow } from '../../src/model/index.ts'
import { namespacedKey } from '../../src/state/index.ts'
import { anAgent, systemClock } from '../build/agent.ts'
import { aGroup } from '../build/index.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { createTestServer } from './harness.ts'
import { shell } from './node-world.ts'

/** A server and two agents that run real processes. */
async function twoNodes(t: TestContext) {
  // Equal allocation ids in another test file would let its driver kill these tasks.
  const server = await createTestServer({ aclEnabled: false, idSeed: randomInt(2 ** 30) })
  const silent = (): void => undefined
  const loop = new EvaluationLoop({
    ...server.context,
    broker: server.broker,
    log: { info: silent, warn: silent, error: silent },
  })
  loop.start()
  const address = await server.listen()
  const start = async () => {
    const dataDir = await temporaryDirectory(t)
    const agent = anAgent({
      dial: websocketDialer([address]),
      clock: systemClock,
      drivers: [new RawExecDriver({ clock: systemClock })],
      storage: diskStorage(dataDir),
      joinToken: 'join',
      ids: { uuid: () => randomUUID() },
    })
    await agent.start()
    return { agent, dataDir }
  }
  const nodes = [await start(), await start()]
  t.after(async () => {
    for (const { agent } of nodes) await agent.stop({ killTasks: true })
    await server.close()
    await loop.stop()
  })
  const { tables } = server.context.store
  for (const { agent } of nodes)
    await until('the node to join', () => tables.nodes.find(agent.nodeId))
  const find = (wanted: (row: AllocationRow) => boolean): Promise<AllocationRow> =>
    until('an allocation', () =>
      tables.allocations.rowsByIndex('job', namespacedKey('default', 'web')).find(wanted),
    )
  return { server, nodes, find }
}

const SCRIPT =
  'f=$REEVE_ALLOC_DIR/data/count; trap "echo end >> $f; exit 0" INT TERM; echo run >> $f; ' +
  'echo own >> $REEVE_TASK_DIR/own; while true; do sleep 0.05; done'

const CASES = [
  { name: 'goes to the next node', Migrate: true, count: 'run\nend\nrun\n', own: 'own\nown\n' },
  { name: 'stays behind unless asked for', Migrate: false, count: 'run\n', own: 'own\n' },
]
for (const { name, Migrate, count, own } of CASES) {
  test(`data of an allocation ${name}`, async (t) => {
    const { server, nodes, find } = await twoNodes(t)
    const EphemeralDisk = { Sticky: true, SizeMB: 300, Migrate }
    const Tasks = [shell(SCRIPT, { Name: 'web' })]
    const group = { ...aGroup(), Count: 1, EphemeralDisk, Tasks }
    await server.ok('registerJob', { body: { Job: { ID: 'web', TaskGroups: [group] } } })
    const first = await find((row) => row.ClientStatus === 'running')
    const directoryOf = ({ ID, NodeID }: AllocationRow): string => {
      const home = nodes.find(({ agent }) => agent.nodeId === NodeID) ?? assert.fail('no node')
      return join(home.dataDir, 'alloc', ID)
    }
    await until('its first word', async () => {
      return await access(join(directoryOf(first), 'web/local/own')).then(
        () => true,
        () => undefined,
      )
    })
    const params = { node_id: first.NodeID }
    await server.ok('setNodeEligibility', { params, body: { Eligibility: 'ineligible' } })
    await server.ok('stopAllocation', { params: { alloc_id: first.ID } })
    const second = await find((row) => row.ID !== first.ID && row.ClientStatus === 'running')
    assert.notEqual(second.NodeID, first.NodeID)
    assert.equal(second.PreviousAllocation, first.ID)
    const root = directoryOf(second)
    await until('its second word', async () => {
      const text = await readFile(join(root, 'web/local/own'), 'utf8').catch(() => '')
      return text === own || undefined
    })
    assert.equal(await readFile(join(root, 'alloc/data/count'), 'utf8'), count)
  })
}
