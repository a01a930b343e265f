/**
 * A big cluster fills up: from the first job submitted until the server has confirmed that the last
 * allocation runs. `node packages/reeve/bench/cluster.bench.ts [--quick] [--cpu-prof=DIR]`
 * `[--jobs=N] [--count=N] [--nodes=N]`
 *
 * Three processes share the machine: the real server with durable storage, one process with all
 * nodes (simulated-agents.ts), and this one, which submits jobs and watches.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openConnections, requestText, sendOk, type HttpConnection } from './http-connection.ts'
import { fixed, isQuick, machineMs, megabytes, printTable, summary, whole } from './measure.ts'
import { flagsOfUsers, startProgram, type RunningProgram } from './program.ts'
import type { AgentsCommand, AgentsReport } from './simulated-agents.ts'

const JOBS = numberFlag('jobs') ?? (isQuick ? 100 : 1_000)
const COUNT = numberFlag('count') ?? (isQuick ? 100 : 1_000)
const NODES = numberFlag('nodes') ?? (isQuick ? 500 : 5_000)
const CONNECTIONS = 16
const START_DELAY_MS = 10
const JOIN_TOKEN = 'join-token-of-the-cluster-bench'
/** Nothing got on for this long: something is lost, and waiting longer will not bring it back. */
const STALL_MS_MAX = 60_000
const POLL_MS = 250
const TICKS_PER_SECOND = 100

const total = JOBS * COUNT
// Whoever interrupts it must not leave the server behind: children end with this process.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
const profileDirectory = textFlag('cpu-prof')
const program = await startProgram({
  directory: join(home, 'server'),
  isServer: true,
  nodeFlags:
    profileDirectory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`],
  environment: {
    REEVE_ACL: 'false',
    REEVE_JOIN_TOKEN: JOIN_TOKEN,
    REEVE_MAX_NEW_NODES_PER_MINUTE: '0',
    REEVE_MAX_NEW_NODES_PER_MINUTE_PER_ADDRESS: '0',
  },
})
const agents = fork(fileURLToPath(new URL('./simulated-agents.ts', import.meta.url)), {
  execArgv: flagsOfUsers(),
})
try {
  await fill()
} finally {
  agents.kill('SIGKILL')
  await program.stop()
  await rm(home, { recursive: true })
}

async function fill(): Promise<void> {
  const connectMs = await connectAgents()
  const idleReport = await ask(agents, { kind: 'report' })
  const before = await costsOf(program)
  const startMs = machineMs()
  const connections = await openConnections(program.port, CONNECTIONS)
  const [submission, report] = await Promise.all([submitAll(connections), untilAllRun()])
  const after = await costsOf(program)
  await checkAllRun()
  const lastMs = report.tenthsMs.at(-1) ?? startMs
  const seconds = (lastMs - startMs) / 1_000
  const cpuSeconds = after.cpuSeconds - before.cpuSeconds
  const mainSeconds = after.mainSeconds - before.mainSeconds
  const load = loadavg()
  process.stdout.write(`${whole(JOBS)} jobs × ${whole(COUNT)} allocations on ${whole(NODES)} nodes,
durable; ${CONNECTIONS} connections submit; load average ${load.map(fixed).join(' ')}
`)
  printTable(
    ['', ''],
    [
      ['first submission to last allocation running, s', fixed(seconds)],
      ['allocations/s', whole(total / seconds)],
      ['all jobs accepted after, s', fixed((submission.doneMs - startMs) / 1_000)],
      [
        'answer to a submission, p50 / p99 ms',
        `${fixed(submission.p50)} / ${fixed(submission.p99)}`,
      ],
      ['evaluation, p50 / p99 ms', await evaluationLatency()],
      ['commits/s', whole((after.commits - before.commits) / seconds)],
      ['server CPU, all threads / main thread, s', `${fixed(cpuSeconds)} / ${fixed(mainSeconds)}`],
      [
        'the same per allocation, µs',
        `${fixed((cpuSeconds / total) * 1e6)} / ${fixed((mainSeconds / total) * 1e6)}`,
      ],
      ['agents CPU, s', fixed(report.cpuSeconds - idleReport.cpuSeconds)],
      [
        'server RSS, at the end / at most',
        `${megabytes(after.rssBytes)} / ${megabytes(after.rssBytesMax)}`,
      ],
      ['channel, characters per allocation', whole(report.receivedChars / total)],
      ['channel, messages to nodes per allocation', fixed(report.receivedMessages / total)],
      ['nodes connected in, s', fixed(connectMs / 1_000)],
    ],
  )
  printTenths(report.tenthsMs, startMs)
}

function printTenths(tenthsMs: readonly number[], startMs: number): void {
  const rows = tenthsMs.map((atMs, i) => {
    const fromMs = tenthsMs[i - 1] ?? startMs
    const rate = (total / tenthsMs.length / (atMs - fromMs)) * 1_000
    return [`${(i + 1) * 10} %`, fixed((atMs - startMs) / 1_000), whole(rate)]
  })
  printTable(['running', 'after s', 'allocations/s'], rows)
}

async function connectAgents(): Promise<number> {
  const startMs = machineMs()
  await ask(agents, {
    kind: 'connect',
    address: program.address,
    nodes: NODES,
    joinToken: JOIN_TOKEN,
    startDelayMs: START_DELAY_MS,
  })
  await ask(agents, { kind: 'expect', total })
  return machineMs() - startMs
}

async function ask(child: ChildProcess, command: AgentsCommand): Promise<AgentsReport> {
  const answered = once(child, 'message')
  child.send(command)
  const [answer] = await answered
  // The child answers each command with a report and sends nothing else.
  return answer as AgentsReport
}

async function submitAll(connections: readonly HttpConnection[]) {
  const tookMs: number[] = []
  let next = 0
  await Promise.all(
    connections.map(async (connection) => {
      while (next < JOBS) {
        const request = requestText('/v1/jobs', { Job: clusterJob(`job-${next++}`) })
        const sentMs = performance.now()
        await sendOk(connection, request)
        tookMs.push(performance.now() - sentMs)
      }
      connection.close()
    }),
  )
  return { ...summary(tookMs, 1), doneMs: machineMs() }
}

function clusterJob(id: string) {
  const Resources = { CPU: 16, MemoryMB: 16 }
  const Tasks = [{ Name: 'main', Driver: 'mock', Config: { run_for: '1h' }, Resources }]
  const TaskGroups = [{ Name: 'app', Count: COUNT, EphemeralDisk: { SizeMB: 150 }, Tasks }]
  // Without a deployment, as in the published figure.
  return { ID: id, Type: 'service', Update: { MaxParallel: 0 }, TaskGroups }
}

async function untilAllRun(): Promise<AgentsReport> {
  let running = 0
  let movedMs = machineMs()
  for (;;) {
    const report = await ask(agents, { kind: 'report' })
    if (report.running >= total) return report
    if (report.lost.length > 0)
      throw new Error(`${report.lost.length} channels ended: ${report.lost[0]}`)
    if (report.running > running) movedMs = machineMs()
    running = report.running
    if (machineMs() - movedMs > STALL_MS_MAX)
      throw new Error(`only ${whole(running)} of ${whole(total)} allocations run`)
    await wait(POLL_MS)
  }
}

/** What the server says of a few jobs, and of all allocations together. */
async function checkAllRun(): Promise<void> {
  const known = await program.metric('allocations')
  if (known !== total) throw new Error(`the server has ${known} allocations instead of ${total}`)
  for (const at of [0, Math.floor(JOBS / 2), JOBS - 1]) {
    const answer = await fetch(`${program.address}/v1/job/job-${at}/summary`)
    // Spec W: Read job summary.
    const { Summary } = (await answer.json()) as { Summary: Record<string, { Running: number }> }
    if (Summary['app']?.Running !== COUNT)
      throw new Error(`job-${at}: ${JSON.stringify(Summary)} instead of ${COUNT} running`)
  }
}

/** From the moment an evaluation was made until its plan was. */
async function evaluationLatency(): Promise<string> {
  const answer = await fetch(`${program.address}/v1/evaluations?per_page=1000`)
  // Spec W: List evaluations. Times are nanoseconds; the last digits do not matter here.
  const rows = (await answer.json()) as { CreateTime: number; ModifyTime: number }[]
  const { p50, p99 } = summary(
    rows.map((row) => (row.ModifyTime - row.CreateTime) / 1e6),
    1,
  )
  return `${fixed(p50)} / ${fixed(p99)}`
}

interface Costs {
  readonly commits: number
  readonly cpuSeconds: number
  /** Of its thread that runs JavaScript: the others collect garbage and write tables. */
  readonly mainSeconds: number
  readonly rssBytes: number
  readonly rssBytesMax: number
}

async function costsOf(server: RunningProgram): Promise<Costs> {
  const { pid } = server
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  return {
    commits: await server.metric('state_durable_index'),
    cpuSeconds: await readCpuSeconds(`/proc/${pid}/stat`),
    // Its first thread has the number of the process.
    mainSeconds: await readCpuSeconds(`/proc/${pid}/task/${pid}/stat`),
    rssBytes: kilobytes('VmRSS') * 1_024,
    rssBytesMax: kilobytes('VmHWM') * 1_024,
  }
}

async function readCpuSeconds(path: string): Promise<number> {
  const stat = await readFile(path, 'utf8')
  // proc(5): the 14th and 15th field, counted from behind the name, which may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

function textFlag(name: string): string | undefined {
  const prefix = `--${name}=`
  return process.argv.find((argument) => argument.startsWith(prefix))?.slice(prefix.length)
}

function numberFlag(name: string): number | undefined {
  const text = textFlag(name)
  return text === undefined ? undefined : Number(text)
}
