import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Client } from '@reeve/sdk'
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
const WITHIN_MS = 60_000

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

/** A server and two nodes, each a process of its own. */
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
  const nodes = ['one', 'two'].map((name) => {
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

async function runOne({ client, job, nodes }: Story, group: object) {
  const Config = { command: '/bin/sh', args: ['-c', 'echo $$; exec sleep 300'] }
  const Task = { Name: 'task', Driver: 'raw_exec', Config, KillTimeout: 1e9 }
  const TaskGroups = [{ Name: 'group', Tasks: [Task], Update: null, ...group }]
  await client.v1.registerJob({ body: { Job: { ID: job, TaskGroups } } })
  const row = await until('the allocation to run', async () => {
    const { data } = await client.v1.listJobAllocations({ params: { job_id: job } })
    return data.find(({ ClientStatus }) => ClientStatus === 'running')
  })
  const home = nodes.find(({ name }) => name === row.NodeName)
  const other = nodes.find(({ name }) => name !== row.NodeName)
  assert.ok(home && other)
  const log = join(home.directory, 'client/alloc', row.ID, 'alloc/logs/task.stdout.0')
  const pid = await until(
    'the process id',
    async () => Number(await readFile(log, 'utf8')) || undefined,
  )
  return { row, home, other, pid }
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

// Each with a job of its own. It stands still first: then its agent is killed and started again.
test('silent node', async (t) => {
  const cluster = await startCluster(t)
  const { client } = cluster

  await t.test(
    'silent node: one that stood still while its channel stayed open comes back by itself',
    async () => {
      const story = { ...cluster, job: 'still' }
      const { row, home, pid } = await runOne(story, {
        Disconnect: { LostAfter: 600e9, Replace: false },
      })
      home.agent.child.kill('SIGSTOP')
      await untilStatus(client, home.name, 'disconnected')
      assert.equal((await untilOn(story, home.name, 'unknown')).ID, row.ID)
      home.agent.child.kill('SIGCONT')
      await untilStatus(client, home.name, 'ready')
      const kept = await untilOn(story, home.name, 'running')
      assert.deepEqual([kept.ID, await isRunning(pid)], [row.ID, true])
      await stopAll(story)
    },
  )

  await t.test(
    'silent node: with lost_after it is unknown meanwhile, and back the original is kept',
    async () => {
      const story = { ...cluster, job: 'kept' }
      const { row, home, other, pid } = await runOne(story, {
        Disconnect: { LostAfter: 600e9, Replace: true, Reconcile: 'keep_original' },
        ReschedulePolicy: { Unlimited: true, Delay: 5e9, DelayFunction: 'constant' },
      })
      await home.agent.kill('SIGKILL')
      await untilStatus(client, home.name, 'disconnected')
      assert.equal((await untilOn(story, home.name, 'unknown')).ID, row.ID)
      const standIn = await untilOn(story, other.name, 'running')
      assert.equal(standIn.Name, row.Name)
      home.agent = cluster.start(home)
      await untilStatus(client, home.name, 'ready')
      const kept = await untilOn(story, home.name, 'running')
      assert.deepEqual([kept.ID, kept.DesiredStatus, await isRunning(pid)], [row.ID, 'run', true])
      assert.equal((await untilOn(story, other.name, 'complete')).ID, standIn.ID)
      await stopAll(story)
      assert.equal(await isRunning(pid), false)
    },
  )

  await t.test(
    'silent node: its work goes on elsewhere under the same name; back, it ends what was replaced',
    async () => {
      const story = { ...cluster, job: 'replaced' }
      const { row, home, other, pid } = await runOne(story, {})
      await home.agent.kill('SIGKILL')
      await untilStatus(client, home.name, 'down')
      const next = await untilOn(story, other.name, 'running')
      assert.deepEqual([next.Name, next.PreviousAllocation], [row.Name, row.ID])
      assert.equal((await untilOn(story, home.name, 'lost')).ID, row.ID)
      assert.ok(await isRunning(pid), 'the task outlives its agent')
      home.agent = cluster.start(home)
      await untilStatus(client, home.name, 'ready')
      assert.equal((await untilOn(story, home.name, 'complete')).ID, row.ID)
      assert.equal(await isRunning(pid), false)
      assert.equal((await untilOn(story, other.name, 'running')).ID, next.ID)
      await stopAll(story)
    },
  )
})
