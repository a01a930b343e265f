/** What becomes of containers when the agent, their engine or both are killed or away. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { EngineProxy } from '../build/engine-proxy.ts'
import { Podman, podmanUnavailable, TEST_IMAGE } from '../build/podman.ts'
import { until } from '../build/until.ts'
import {
  eventsOf,
  exitCodeOf,
  RealCluster,
  textOf,
  WITHIN_MS,
  type AllocationRow,
} from './real-cluster.ts'

const TASK = 'work'
const COUNT = 2
const OUTPUT_BYTES = 100_000
const OUTPUT = `begin\n${'x'.repeat(OUTPUT_BYTES)}\nend\n`

interface World {
  readonly cluster: RealCluster
  readonly podman: Podman
  /** Between the agent and podman: the engine is away while this is. */
  readonly proxy: EngineProxy
}

/** Notes each start, waits until it is let go, writes, and ends with a code of its own. */
function script(code: number): string {
  return `echo $$ >> $REEVE_ALLOC_DIR/data/starts
echo begin
while ! [ -e $REEVE_ALLOC_DIR/data/go ]; do sleep 0.05; done
head -c ${OUTPUT_BYTES} /dev/zero | tr '\\0' x
echo; echo end
exit ${code}`
}

const codeOf = ({ TaskGroup }: AllocationRow): number => 40 + Number(TaskGroup.slice(1))

/** A batch job of containers that may not be started a second time. */
async function runJob({ cluster }: World, id: string): Promise<readonly AllocationRow[]> {
  const TaskGroups = Array.from({ length: COUNT }, (_, n) => ({
    Name: `g${n}`,
    RestartPolicy: { Attempts: 0, Mode: 'fail' },
    ReschedulePolicy: { Attempts: 0, Unlimited: false },
    EphemeralDisk: { SizeMB: 10 },
    Tasks: [
      {
        Name: TASK,
        Driver: 'docker',
        Config: {
          image: TEST_IMAGE,
          network_mode: 'none',
          command: 'sh',
          args: ['-c', script(40 + n)],
        },
        Resources: { CPU: 1, MemoryMB: 32 },
        LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
      },
    ],
  }))
  await cluster.run({ ID: id, Type: 'batch', TaskGroups })
  const rows = await cluster.allocations(id, 'the containers to run', (all) => {
    return all.length === COUNT && all.every(({ ClientStatus }) => ClientStatus === 'running')
  })
  for (const row of rows) {
    await until('a container to begin, and the agent to save that', async () => {
      const saved = join(cluster.nodeDirectory, 'agent/allocations', row.ID, 'tasks.json')
      const isSaved = (await textOf(saved)).includes('"Type":"Started"')
      return isSaved && (await starts(cluster, row)) === 1 ? true : undefined
    })
  }
  return rows
}

async function starts(cluster: RealCluster, { ID }: AllocationRow): Promise<number> {
  return (await textOf(cluster.path(ID, 'alloc/data/starts'))).split('\n').length - 1
}

async function release(cluster: RealCluster, rows: readonly AllocationRow[]): Promise<void> {
  for (const { ID } of rows) await writeFile(cluster.path(ID, 'alloc/data/go'), '')
}

const isOver = ({ ClientStatus }: AllocationRow): boolean =>
  ClientStatus === 'failed' || ClientStatus === 'complete'

/** Each ended with its own code, said everything once, and was started once. */
async function assertWhole({ cluster }: World, id: string): Promise<void> {
  const rows = await cluster.allocations(id, 'their ends', (all) => all.every(isOver))
  assert.deepEqual(
    rows.map((row) => exitCodeOf(row, TASK)),
    rows.map(codeOf),
  )
  for (const row of rows) {
    assert.equal(await starts(cluster, row), 1)
    assert.equal(eventsOf(row, TASK).includes('Failed Restoring Task'), false)
    assert.equal(await cluster.log(row.ID, TASK), OUTPUT)
  }
}

/** The agent says that it waits for the driver, and the tasks count as running. */
async function untilWaiting({ cluster }: World, id: string): Promise<void> {
  const rows = await cluster.allocations(id, 'the agent to wait for its engine', (all) =>
    all.every((row) => eventsOf(row, TASK).includes('Driver')),
  )
  for (const { ClientStatus } of rows) assert.equal(ClientStatus, 'running')
}

const stories: Readonly<Record<string, (world: World) => Promise<void>>> = {
  'the agent is killed and comes back while containers end': async (world) => {
    const rows = await runJob(world, 'agent')
    await world.cluster.killNode()
    await release(world.cluster, rows)
    await world.cluster.startNode()
    await assertWhole(world, 'agent')
  },
  'the engine is killed and comes back while containers end': async (world) => {
    const rows = await runJob(world, 'engine')
    await world.podman.kill()
    await release(world.cluster, rows)
    await world.podman.start()
    await assertWhole(world, 'engine')
  },
  'the agent starts while its engine is away, and waits for it': async (world) => {
    const rows = await runJob(world, 'away')
    await world.proxy.interrupt()
    await world.cluster.killNode()
    await world.cluster.startNode()
    await untilWaiting(world, 'away')
    await release(world.cluster, rows)
    await world.proxy.resume()
    await assertWhole(world, 'away')
  },
  'agent and engine are killed, and the agent is back first': async (world) => {
    const rows = await runJob(world, 'both')
    await world.cluster.killNode()
    await world.podman.kill()
    await world.cluster.startNode()
    await untilWaiting(world, 'both')
    await release(world.cluster, rows)
    await world.podman.start()
    await assertWhole(world, 'both')
  },
}

async function openWorld(t: TestContext): Promise<World> {
  const podman = await Podman.open()
  const socketPath = join(podman.dir, 'proxy.sock')
  const proxy = await EngineProxy.open({ socketPath, target: podman.socketPath, manner: 'as-is' })
  t.after(async () => {
    await proxy.close()
    await podman.close()
  })
  const settings = `plugin "docker" {\n  config {\n    endpoint = "unix://${socketPath}"\n  }\n}\n`
  const cluster = await RealCluster.open(t, settings)
  return { cluster, podman, proxy }
}

test('containers when agent or engine die', { skip: podmanUnavailable() }, async (t) => {
  const world = await openWorld(t)
  for (const [name, story] of Object.entries(stories)) {
    await t.test(name, { timeout: 2 * WITHIN_MS }, () => story(world))
  }
})
