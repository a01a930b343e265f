/**
 * The node agent: time from submission to a running task, isolated tasks per second, memory of a
 * sleeping task, log throughput and terminal echo, all through `reeve agent --dev`; and the cost of
 * thousands of idle nodes for a server. `node packages/reeve/bench/agent.bench.ts [--quick]`. The
 * rows of `exec` need root.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createClient, type Client } from '@reeve/sdk'
import { fixed, isQuick, printTable, summary, timed, whole } from './measure.ts'
import { startProgram, type RunningProgram } from './program.ts'
import type { AgentsCommand } from './simulated-agents.ts'

const SUBMISSIONS = isQuick ? 10 : 100
const SHORT_TASKS = isQuick ? 50 : 400
const SLEEPERS = isQuick ? 20 : 100
const LOG_BYTES = (isQuick ? 64 : 512) * 1024 * 1024
const ECHOES = isQuick ? 50 : 500
const NODES = isQuick ? 500 : 5_000
const IDLE_MS = isQuick ? 3_000 : 20_000
const TICKS_PER_SECOND = 100
const KILOBYTE = 1_024
const JOIN_TOKEN = 'join-token-of-the-agent-bench'
/** Longer than any row takes. */
const WAIT_MS_MAX = 120_000

const isRoot = process.getuid?.() === 0
const drivers = isRoot ? ['raw_exec', 'exec'] : ['raw_exec']
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
const rows: string[][] = []
try {
  await benchNode()
  await benchManyNodes()
} finally {
  process.stdout.write(`load average ${loadavg().map(fixed).join(' ')}\n`)
  printTable(['', ''], rows)
  await rm(home, { recursive: true, force: true })
}

function aJob(id: string, driver: string, command: readonly string[]) {
  const [program = '', ...args] = command
  const Task = {
    Name: 'task',
    Driver: driver,
    Config: { command: program, args },
    Resources: { CPU: 1, MemoryMB: 16 },
    LogConfig: { MaxFiles: 2, MaxFileSizeMB: 10 },
    KillTimeout: 1e9,
  }
  const group = { Name: 'group', Count: 1, EphemeralDisk: { SizeMB: 30 }, Tasks: [Task] }
  return { ID: id, Type: 'batch', TaskGroups: [group] }
}

/** Waits with blocking queries until `count` allocations of the job have the status. */
async function untilStatus(client: Client, jobId: string, want: { status: string; count: number }) {
  const endMs = performance.now() + WAIT_MS_MAX
  let index = 0
  for (;;) {
    const query = { index, wait: '5s' }
    const { data, headers } = await client.v1.listJobAllocations({
      params: { job_id: jobId },
      query,
    })
    const found = data.filter(({ ClientStatus }) => ClientStatus === want.status)
    if (found.length >= want.count) return found
    if (performance.now() > endMs) throw new Error(`waited in vain for ${want.status} of ${jobId}`)
    index = Number(headers.get('x-service-index') ?? 0)
  }
}

async function benchNode(): Promise<void> {
  const directory = join(home, 'dev')
  const program = await startProgram({ directory })
  const client = createClient({ address: program.address })
  try {
    for (const driver of drivers) await benchSubmissions(client, driver)
    for (const driver of drivers) await benchShortTasks(client, driver)
    for (const driver of drivers) await benchSleepers(client, directory, driver)
    await benchLogs(client)
    for (const driver of drivers) await benchEcho(client, driver)
  } finally {
    await program.stop()
  }
}

/** Stops all tasks of a job, because tasks outlive the program. */
async function stop(client: Client, jobId: string, count: number): Promise<void> {
  await client.v1.stopJob({ params: { job_id: jobId } })
  await untilStatus(client, jobId, { status: 'complete', count })
}

async function benchSubmissions(client: Client, driver: string): Promise<void> {
  const tookMs: number[] = []
  for (let n = 0; n < SUBMISSIONS; n++) {
    const id = `submit-${driver}-${n}`
    tookMs.push(
      await timed(async () => {
        await client.v1.registerJob({ body: { Job: aJob(id, driver, ['/bin/sleep', '600']) } })
        await untilStatus(client, id, { status: 'running', count: 1 })
      }),
    )
    await stop(client, id, 1)
  }
  const { p50, p99 } = summary(tookMs, 1)
  rows.push([
    `${driver}: submitted until known to run, p50 / p99 ms`,
    `${fixed(p50)} / ${fixed(p99)}`,
  ])
}

function counted(job: ReturnType<typeof aJob>, Count: number) {
  return { ...job, TaskGroups: job.TaskGroups.map((group) => ({ ...group, Count })) }
}

async function benchShortTasks(client: Client, driver: string): Promise<void> {
  const id = `short-${driver}`
  const Job = counted(aJob(id, driver, ['/bin/true']), SHORT_TASKS)
  const ms = await timed(async () => {
    await client.v1.registerJob({ body: { Job } })
    await untilStatus(client, id, { status: 'complete', count: SHORT_TASKS })
  })
  rows.push([
    `${driver}: allocations begun, ended and reported per second`,
    whole(SHORT_TASKS / (ms / 1_000)),
  ])
}

/** Proportional set size: shared pages count by their share. */
async function memoryKb(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0)
}

interface HandleFile {
  readonly pid: number
  readonly taskPid: number
  readonly shimPid: number
}

async function benchSleepers(client: Client, directory: string, driver: string): Promise<void> {
  const id = `sleep-${driver}`
  const Job = counted(aJob(id, driver, ['/bin/sleep', '600']), SLEEPERS)
  await client.v1.registerJob({ body: { Job } })
  await untilStatus(client, id, { status: 'running', count: SLEEPERS })
  const records = join(directory, 'client/agent/tasks')
  let totalKb = 0
  let count = 0
  for (const name of await readdir(records)) {
    const text = await readFile(join(records, name, 'handle.json'), 'utf8').catch(() => undefined)
    if (text === undefined) continue
    const { pid, taskPid, shimPid }: HandleFile = JSON.parse(text)
    totalKb += (await memoryKb(shimPid)) + (pid === taskPid ? 0 : await memoryKb(pid))
    count += 1
  }
  rows.push([
    `${driver}: helpers of a sleeping task, KB`,
    count === 0 ? 'none' : whole(totalKb / count),
  ])
  await stop(client, id, SLEEPERS)
}

async function benchLogs(client: Client): Promise<void> {
  const command = ['/usr/bin/head', '-c', String(LOG_BYTES), '/dev/zero']
  const ms = await timed(async () => {
    await client.v1.registerJob({ body: { Job: aJob('logs', 'raw_exec', command) } })
    await untilStatus(client, 'logs', { status: 'complete', count: 1 })
  })
  rows.push([
    'logs into files of 10 MiB, start and end included, MB/s',
    whole(LOG_BYTES / 1_000 / ms),
  ])
}

async function benchEcho(client: Client, driver: string): Promise<void> {
  const id = `echo-${driver}`
  await client.v1.registerJob({ body: { Job: aJob(id, driver, ['/bin/sleep', '600']) } })
  const [allocation] = await untilStatus(client, id, { status: 'running', count: 1 })
  if (allocation === undefined) return
  const session = await client.exec({ allocId: allocation.ID, task: 'task', command: ['/bin/cat'] })
  const output = session.stdout[Symbol.asyncIterator]()
  const tookMs: number[] = []
  for (let n = 0; n < ECHOES; n++) {
    tookMs.push(
      await timed(async () => {
        await session.stdin.write('x')
        await output.next()
      }),
    )
  }
  await session.stdin.close()
  await session.exit
  const { p50, p99 } = summary(tookMs, 1)
  rows.push([
    `${driver}: echo of one byte in a session, p50 / p99 ms`,
    `${fixed(p50)} / ${fixed(p99)}`,
  ])
  await stop(client, id, 1)
}

/** The cost of idle nodes for a server: their heartbeats. */
async function benchManyNodes(): Promise<void> {
  const program = await startProgram({
    directory: join(home, 'server'),
    isServer: true,
    environment: {
      REEVE_ACL: 'false',
      REEVE_JOIN_TOKEN: JOIN_TOKEN,
      REEVE_MAX_NEW_NODES_PER_MINUTE: '0',
      REEVE_MAX_NEW_NODES_PER_MINUTE_PER_ADDRESS: '0',
    },
  })
  const agents = fork(fileURLToPath(new URL('./simulated-agents.ts', import.meta.url)))
  try {
    const command: AgentsCommand = {
      kind: 'connect',
      address: program.address,
      nodes: NODES,
      joinToken: JOIN_TOKEN,
      startDelayMs: 10,
    }
    const connected = once(agents, 'message')
    const connectMs = await timed(async () => {
      agents.send(command)
      await connected
    })
    const before = await cpuSeconds(program)
    await wait(IDLE_MS)
    const share = ((await cpuSeconds(program)) - before) / (IDLE_MS / 1_000)
    rows.push([`${whole(NODES)} nodes registered in, s`, fixed(connectMs / 1_000)])
    rows.push([`server with ${whole(NODES)} idle nodes, % of one core`, fixed(share * 100)])
    rows.push(['the same, resident memory, MB', whole((await residentKb(program)) / KILOBYTE)])
  } finally {
    agents.kill('SIGKILL')
    await program.stop()
  }
}

async function cpuSeconds({ pid }: RunningProgram): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // After the name, which may contain any character: user and system ticks are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

async function residentKb({ pid }: RunningProgram): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0)
}
