import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient, type Client } from '@reeve/sdk'
import { whyNoPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until, whenBusy } from '../build/until.ts'
import { startReeve, type AgentProcess } from './program-process.ts'

const missing = whyNoPostgres()
/** Unlike any other on this machine, so that its process is found. */
const DURATION = `3000.${process.pid}`

test(
  'dev-cluster: a job goes on while the leader is killed, and nothing is left at the end',
  { skip: missing },
  async (t) => {
    const cluster = startReeve(t, ['dev-cluster', '--servers', '3', '--http-port', '0'], {
      lastSignal: 'SIGTERM',
    })
    const said = await until('the cluster', () => bannerOf(cluster))
    const client = createClient({ address: said.follower })
    const before = await runJob(client, 'steady')
    process.kill(said.leaderPid, 'SIGKILL')
    const again = await until('another leader', () => {
      return (
        /(server-\d) leads now \(no leader for ([\d.]+) s\)/.exec(cluster.output()) ?? undefined
      )
    })
    assert.notEqual(again[1], said.leader)
    assert.ok(Number(again[2]) * 1_000 < whenBusy(5_000), `nobody led for ${again[2]} s`)
    const [after] = await until('an answer', () => allocationsOf(client, 'steady').catch(no))
    assert.equal(after?.ID, before, 'the same allocation')
    assert.equal(after.ClientStatus, 'running')
    await until('the killed one to be back', () => {
      return /is started again \(pid \d+\)/.test(cluster.output()) ? true : undefined
    })
    assert.ok(isSleeping(), 'the task runs')
    assert.equal(await cluster.kill('SIGINT'), 0, cluster.output())
    assert.ok(!existsSync(said.directory), 'its directory is gone')
    for (const pid of said.pids) assert.ok(!existsSync(`/proc/${pid}`), `${pid} is gone`)
    assert.ok(!isSleeping(), 'the task is gone')
  },
)

test(
  'dev-cluster: its database may be killed, and nothing is left when it is',
  { skip: missing },
  async (t) => {
    const cluster = startReeve(t, ['dev-cluster', '--servers', '2', '--http-port', '0'])
    const said = await until('the cluster', () => bannerOf(cluster))
    const client = createClient({ address: said.follower })
    await runJob(client, 'steady')
    process.kill(said.databasePid, 'SIGKILL')
    const again = await until(
      'the database to be back',
      () => /PostgreSQL is started again \(pid (\d+)\)/.exec(cluster.output())?.[1],
    )
    const write = (): Promise<unknown> => client.v1.writeNamespace({ body: { Name: 'later' } })
    await until('a write to be taken', () => write().catch(no))
    assert.ok(isSleeping(), 'the task runs')
    await cluster.kill('SIGKILL')
    const pids = [...said.pids, Number(again)]
    const isGone = (): boolean =>
      !pids.some((pid) => commandOf(String(pid)) !== '') && !existsSync(said.directory)
    await until('everything to end', () => isGone() || undefined)
    assert.ok(!isSleeping(), 'the task is gone')
  },
)

test(
  'dev-cluster: a data directory that it makes itself is one that PostgreSQL can enter',
  { skip: missing },
  async (t) => {
    const above = await temporaryDirectory(t)
    await chmod(above, 0o711)
    const directory = join(above, 'new', 'cluster')
    const flags = ['--servers', '1', '--clients', '0', '--http-port', '0', '--data-dir', directory]
    const cluster = startReeve(t, ['dev-cluster', ...flags], { lastSignal: 'SIGTERM' })
    const said = await until('the cluster', () => bannerOf(cluster))
    assert.equal(said.directory, directory)
    assert.equal(await cluster.kill('SIGINT'), 0, cluster.output())
    assert.ok(existsSync(join(directory, 'postgres')), readdirSync(directory).join())
  },
)

test('dev-cluster: without PostgreSQL it says the next step', async (t) => {
  const cluster = startReeve(t, ['dev-cluster', '--postgres', '/nowhere'])
  await until('it to end', () => cluster.child.exitCode ?? undefined)
  assert.equal(cluster.child.exitCode, 1)
  assert.match(cluster.output(), /\/nowhere does not hold initdb.*--database postgres:/s)
})

test('dev-cluster: a number of servers that makes no sense is refused', async (t) => {
  const cluster = startReeve(t, ['dev-cluster', '--servers', 'many'])
  await until('it to end', () => cluster.child.exitCode ?? undefined)
  assert.match(cluster.output(), /whole number from 1 to 9/)
})

interface Said {
  readonly leader: string
  readonly leaderPid: number
  readonly follower: string
  readonly directory: string
  readonly databasePid: number
  readonly pids: readonly number[]
}

function bannerOf(cluster: AgentProcess): Said | undefined {
  const text = cluster.output()
  assert.equal(cluster.child.exitCode, null, text)
  if (!text.includes('Ctrl-C stops everything')) return undefined
  const [, leader = '', pid] = /(server-\d) +http:\S+ +pid (\d+) +leads/.exec(text) ?? []
  const [, follower = ''] = /REEVE_ADDR=(\S+)/.exec(text) ?? []
  const [, directory = ''] = /Data +(\S+)/.exec(text) ?? []
  const pids = [...text.matchAll(/pid (\d+)/g)].map(([, one]) => Number(one))
  const databasePid = Number(/PostgreSQL +pid (\d+)/.exec(text)?.[1])
  return { leader, leaderPid: Number(pid), follower, directory, databasePid, pids }
}

/** The ID of the allocation that runs. */
async function runJob(client: Client, id: string): Promise<string> {
  const Config = { command: '/bin/sleep', args: [DURATION] }
  const Tasks = [{ Name: 'task', Driver: 'raw_exec', Config }]
  await client.v1.registerJob({ body: { Job: { ID: id, TaskGroups: [{ Name: 'g', Tasks }] } } })
  const running = await until('the job to run', async () => {
    const [allocation] = await allocationsOf(client, id)
    return allocation?.ClientStatus === 'running' ? allocation : undefined
  })
  return running.ID
}

async function allocationsOf(client: Client, id: string) {
  return (await client.v1.listJobAllocations({ params: { job_id: id } })).data
}

function isSleeping(): boolean {
  return readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(DURATION))
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return '' // gone meanwhile
  }
}

const no = (): undefined => undefined
