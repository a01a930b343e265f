import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Client } from '@reeve/sdk'
import { LIMITS } from '../../src/model/index.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startAgent, startProgram, type AgentProcess } from './program-process.ts'

const JOIN_TOKEN = 'a-join-token-of-this-test'
/** Short enough to be waited for, long enough for a machine that is busy with other tests. */
const SERVER = `
join_token = "${JOIN_TOKEN}"
client { enabled = false }
server {
  min_heartbeat_ttl = "250ms"
  heartbeat_grace   = "4s"
}
`
const WITHIN_MS = 180_000
/** The node that replacements go to. */
const SPARE = 'spare'
/** A job whose node is lost sooner after its start is delayed (docs/reference/job-file). */
const STARTED_MS = LIMITS.startingRunMsMax + 1_000

interface NodeProcess {
  readonly name: string
  readonly directory: string
  agent: AgentProcess
}

interface Cluster {
  readonly client: Client
  readonly nodes: readonly NodeProcess[]
  readonly start: (node: Omit<NodeProcess, 'agent'>) => AgentProcess
}

/** What a test does with a job of its own. */
interface Story extends Cluster {
  readonly job: string
}

/** A server and three nodes, each a process of its own. */
async function startCluster(t: TestContext): Promise<Cluster> {
  const directory = await temporaryDirectory(t)
  const path = join(directory, 'server.hcl')
  await writeFile(path, SERVER)
  const { client, address } = await startProgram(t, join(directory, 'server'), ['--config', path])
  const start: Cluster['start'] = (node) =>
    startAgent(
      t,
      [
        '--client',
        '--join',
        new URL(address).host,
        '--data-dir',
        node.directory,
        '--node-name',
        node.name,
      ],
      { environment: { REEVE_JOIN_TOKEN: JOIN_TOKEN, REEVE_RAW_EXEC: 'true' } },
    )
  const nodes = ['one', 'two', SPARE].map((name) => {
    const node = { name, directory: join(directory, name) }
    return { ...node, agent: start(node) }
  })
  for (const { name } of nodes) await untilStatus(client, name, 'ready')
  return { client, nodes, start }
}

async function untilStatus(client: Client, name: string, status: string): Promise<void> {
  await until(
    `node ${name} to be ${status}`,
    async () => {
      const { data } = await client.v1.listNodes({})
      return data.some((node) => node.Name === name && node.Status === status) ? true : undefined
    },
    WITHIN_MS,
  )
}

/** The allocation of the job on the node, once it has the status. */
async function untilOn({ client, job }: Story, nodeName: string, status: string) {
  return await until(
    `an allocation on ${nodeName} that is ${status}`,
    async () => {
      const { data } = await client.v1.listJobAllocations({ params: { job_id: job } })
      return data.find((row) => row.NodeName === nodeName && row.ClientStatus === status)
    },
    WITHIN_MS,
  )
}

/** Registers the job of a story: it runs on `home`, and goes to the spare node without it. */
async function register({ client, job }: Story, home: string, group: object): Promise<void> {
  const Config = { command: '/bin/sh', args: ['-c', 'echo $$; exec sleep 300'] }
  const Task = { Name: 'task', Driver: 'raw_exec', Config, KillTimeout: 1e9 }
  const NAME = '${node.unique.name}'
  const Constraints = [{ LTarget: NAME, Operand: 'regexp', RTarget: `^(${home}|${SPARE})$` }]
  const Affinities = [{ LTarget: NAME, Operand: '=', RTarget: home, Weight: 100 }]
  const placed = { Constraints, Affinities, ...group }
  const TaskGroups = [{ Name: 'group', Tasks: [Task], Update: null, ...placed }]
  await client.v1.registerJob({ body: { Job: { ID: job, TaskGroups } } })
}

/** Its allocation, once it runs. */
async function running(story: Story, homeName: string) {
  const row = await untilOn(story, homeName, 'running')
  const home = story.nodes.find(({ name }) => name === homeName)
  assert.ok(home)
  const log = join(home.directory, 'client/alloc', row.ID, 'alloc/logs/task.stdout.0')
  const pid = await until(
    'the process id',
    async () => Number(await readFile(log, 'utf8')) || undefined,
  )
  return { row, home, pid }
}

/** The same, once its node may be lost without a doubt about the job. */
async function established(story: Story, homeName: string) {
  const { row, ...rest } = await running(story, homeName)
  await until('the allocation to be no longer starting', () => {
    const startedMs = Date.parse(row.TaskStates?.['task']?.StartedAt ?? '')
    return Date.now() - startedMs > STARTED_MS || undefined
  })
  return { row, ...rest }
}

/** A process that ended and that nobody has waited for yet does not run. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat !== '' && !/\) [ZX] /.test(stat)
}

/** Tasks outlive their agents, so whoever ends a test stops them. */
async function stopAll({ client, job }: Story): Promise<void> {
  await client.v1.stopJob({ params: { job_id: job } })
  await until('everything to end', async () => {
    const { data } = await client.v1.listJobAllocations({ params: { job_id: job } })
    const isOver = data.every(({ ClientStatus }) => ClientStatus !== 'running')
    return isOver ? true : undefined
  })
}

// Each with a job and a node of its own. Those whose agents are killed do not wait for each other.
test('silent node', { concurrency: true }, async (t) => {
  const cluster = await startCluster(t)
  const { client } = cluster
  const [still, kept, replaced] = [
    { ...cluster, job: 'still' },
    { ...cluster, job: 'kept' },
    { ...cluster, job: 'replaced' },
  ]
  await register(kept, 'one', {
    Disconnect: { LostAfter: 600e9, Replace: true, Reconcile: 'keep_original' },
    ReschedulePolicy: { Unlimited: true, Delay: 5e9, DelayFunction: 'constant' },
  })
  await register(replaced, 'two', {})
  await register(still, SPARE, { Disconnect: { LostAfter: 600e9, Replace: false } })

  await t.test(
    'silent node: one that stood still while its channel stayed open comes back by itself',
    async () => {
      const { row, home, pid } = await running(still, SPARE)
      home.agent.child.kill('SIGSTOP')
      await untilStatus(client, home.name, 'disconnected')
      assert.equal((await untilOn(still, home.name, 'unknown')).ID, row.ID)
      home.agent.child.kill('SIGCONT')
      await untilStatus(client, home.name, 'ready')
      const after = await untilOn(still, home.name, 'running')
      assert.deepEqual([after.ID, await isRunning(pid)], [row.ID, true])
      await stopAll(still)
    },
  )

  const awaited = t.test(
    'silent node: with lost_after it is unknown meanwhile, and back the original is kept',
    async () => {
      const { row, home, pid } = await established(kept, 'one')
      await home.agent.kill('SIGKILL')
      await untilStatus(client, home.name, 'disconnected')
      assert.equal((await untilOn(kept, home.name, 'unknown')).ID, row.ID)
      const standIn = await untilOn(kept, SPARE, 'running')
      assert.equal(standIn.Name, row.Name)
      home.agent = cluster.start(home)
      await untilStatus(client, home.name, 'ready')
      const after = await untilOn(kept, home.name, 'running')
      assert.deepEqual([after.ID, after.DesiredStatus, await isRunning(pid)], [row.ID, 'run', true])
      assert.equal((await untilOn(kept, SPARE, 'complete')).ID, standIn.ID)
      await stopAll(kept)
      assert.equal(await isRunning(pid), false)
    },
  )

  await t.test(
    'silent node: its work goes on elsewhere under the same name; back, it ends what was replaced',
    async () => {
      const { row, home, pid } = await established(replaced, 'two')
      await home.agent.kill('SIGKILL')
      await untilStatus(client, home.name, 'down')
      const next = await untilOn(replaced, SPARE, 'running')
      assert.deepEqual([next.Name, next.PreviousAllocation], [row.Name, row.ID])
      assert.equal((await untilOn(replaced, home.name, 'lost')).ID, row.ID)
      assert.ok(await isRunning(pid), 'the task outlives its agent')
      home.agent = cluster.start(home)
      await untilStatus(client, home.name, 'ready')
      assert.equal((await untilOn(replaced, home.name, 'complete')).ID, row.ID)
      assert.equal(await isRunning(pid), false)
      assert.equal((await untilOn(replaced, SPARE, 'running')).ID, next.ID)
      await stopAll(replaced)
    },
  )
  await awaited
})
