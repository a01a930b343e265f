/**
 * Real servers, a real database and a real node under faults. A part of every run of the tests;
 * for longer: `npm run faults -- --minutes 5 [--seed 7]`.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { atEnd } from '../build/at-end.ts'
import { Experiment } from '../build/experiment.ts'
import { seededRandom } from '../build/ids.ts'
import { whyNoPostgres } from '../build/postgres.ts'
import { until } from '../build/until.ts'
import { checkHistory, checkIndexOrder } from '../linearizability/check-history.ts'
import { FaultClients } from './cluster-faults-clients.ts'
import { FaultStream } from './cluster-faults-stream.ts'
import { FaultWorld } from './cluster-faults-world.ts'
import type { ServerProcess } from './cluster-process.ts'

const SHORT_MS = 12_000
const SEEN_MS_MAX = 120_000
const experiment = Experiment.fromArguments()
const { seed } = experiment

test(
  'cluster: three servers and their database are killed and paused under load, and every promise holds',
  { skip: experiment.skipIf(whyNoPostgres()) },
  async (t) => {
    const world = await FaultWorld.start({
      t,
      random: seededRandom(seed),
      onFault: () => experiment.count('faults'),
    })
    const clients = new FaultClients(world, seededRandom(seed + 1))
    const stream = new FaultStream(world)
    atEnd(t, () => Promise.all([stream.stop(), clients.stop()]))
    stream.start()
    clients.start()
    await world.live(experiment.durationMs(SHORT_MS))
    await clients.stop()
    tell(t, { world, clients, stream })
    assert.deepEqual(clients.setbacks, [], 'no client ever saw an index go back')
    for (const server of world.servers) await checkState(server, clients)
    checkHistories(clients)
    await checkStream(stream, clients)
    await checkTasks(world, clients)
    await checkRoom(world)
  },
)

interface Parts {
  readonly world: FaultWorld
  readonly clients: FaultClients
  readonly stream: FaultStream
}

function tell(t: TestContext, { world, clients, stream }: Parts): void {
  const operations = [...clients.recorder.histories.values()].flat()
  const unknown = operations.filter(({ told }) => told.kind === 'unknown').length
  t.diagnostic(`faults: ${world.said.join(', ')}`)
  t.diagnostic(
    `${clients.names.length} names, ${clients.once.length} tasks, ${operations.length} operations on registers (${unknown} without an answer), ${stream.indexes.length} events over ${stream.connections} connections`,
  )
  experiment.count('acknowledged writes', clients.names.length + clients.jobIndexes.length)
  experiment.count('linearizable operations', operations.length - unknown)
  experiment.count('operations without an answer', unknown)
  experiment.count('events', stream.indexes.length)
  experiment.count('tasks', clients.once.length)
  assert.ok(clients.names.length > 6 && clients.once.length > 0 && operations.length > 6)
}

/** Every acknowledged write is there, at the leader and at whoever follows it. */
async function checkState({ address }: ServerProcess, clients: FaultClients): Promise<void> {
  for (const query of ['', '?stale']) {
    const lost = await until(
      `the state at ${address}`,
      async () => {
        const answer = await fetch(`${address}/v1/namespaces${query}`).catch(() => undefined)
        if (answer?.status !== 200) return undefined
        // The route answers with a list of namespaces.
        const rows = (await answer.json()) as { Name: string }[]
        const found = new Set(rows.map(({ Name }) => Name))
        const missing = clients.names.filter((name) => !found.has(name))
        // A follower may need a moment more.
        return query !== '' && missing.length > 0 ? undefined : missing
      },
      SEEN_MS_MAX,
    )
    assert.deepEqual(lost, [], `at ${address}${query}`)
  }
}

function checkHistories({ recorder }: FaultClients): void {
  const { histories } = recorder
  for (const [register, history] of histories)
    assert.deepEqual(checkHistory(history), { kind: 'linearizable' }, register)
  assert.equal(checkIndexOrder(histories), undefined)
}

/** Nothing came twice, and every acknowledged write of a job came. */
async function checkStream(stream: FaultStream, { jobIndexes }: FaultClients): Promise<void> {
  const last = Math.max(...jobIndexes)
  await until('the stream', () => (stream.last >= last ? true : undefined), SEEN_MS_MAX)
  assert.deepEqual(stream.wrong, [])
  const seen = new Set(stream.indexes)
  assert.deepEqual(
    jobIndexes.filter((index) => !seen.has(index)),
    [],
    'every acknowledged write is in the stream',
  )
}

/** Every job that was acknowledged has run once, and none twice: the tasks themselves say so. */
async function checkTasks(world: FaultWorld, { once }: FaultClients): Promise<void> {
  const readMarks = async (): Promise<string[]> =>
    (await readFile(world.marks, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '')
  const isRun = async (): Promise<true | undefined> => {
    const run = new Set((await readMarks()).map((line) => line.split(' ')[0]))
    return once.every((id) => run.has(id)) ? true : undefined
  }
  await until('every task to run', isRun, SEEN_MS_MAX)
  const jobs = (await readMarks()).map((line) => line.split(' ')[0])
  assert.equal(new Set(jobs).size, jobs.length, 'no task ran twice')
}

async function checkRoom({ servers }: FaultWorld): Promise<void> {
  const [server] = servers
  if (server === undefined) return
  const { data: nodes } = await server.client.v1.listNodes({})
  assert.equal(nodes.length, 1)
  const params = { node_id: nodes[0]?.ID ?? '' }
  const { data: node } = await server.client.v1.readNode({ params })
  const { data: rows } = await server.client.v1.listNodeAllocations({ params })
  let [cpu, memory] = [0, 0]
  for (const { ClientStatus, AllocatedResources } of rows) {
    if (ClientStatus !== 'pending' && ClientStatus !== 'running') continue
    for (const task of Object.values(AllocatedResources?.Tasks ?? {})) {
      cpu += task.Cpu.CpuShares
      memory += task.Memory.MemoryMB
    }
  }
  assert.ok(cpu <= (node.NodeResources?.Cpu.CpuShares ?? 0), `${cpu} MHz`)
  assert.ok(memory <= (node.NodeResources?.Memory.MemoryMB ?? 0), `${memory} MB`)
}
