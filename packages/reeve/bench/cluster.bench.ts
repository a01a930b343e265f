/**
 * Fills a large cluster: from the first submitted job until the server has confirmed that the last
 * allocation runs. `node packages/reeve/bench/cluster.bench.ts [--quick] [--cpu-prof=DIR]`
 * `[--jobs=N] [--count=N] [--nodes=N]`
 *
 * Three processes share the machine: the real server with durable storage, one process with all
 * nodes (simulated-agents.ts), and this one, which submits jobs and measures.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { FILL_ENVIRONMENT, SimulatedFleet, submitJobs } from './cluster-fill.ts'
import { openConnections } from './http-connection.ts'
import { fixed, isQuick, machineMs, megabytes, printTable, summary, whole } from './measure.ts'
import { memoryOf, readCpuSeconds } from './process-costs.ts'
import { startProgram, type RunningProgram } from './program.ts'

const JOBS = numberFlag('jobs') ?? (isQuick ? 100 : 1_000)
const COUNT = numberFlag('count') ?? (isQuick ? 100 : 1_000)
const NODES = numberFlag('nodes') ?? (isQuick ? 500 : 5_000)
const CONNECTIONS = 16

const total = JOBS * COUNT
// Children end with this process, also after an interrupt.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
const profileDirectory = textFlag('cpu-prof')
const program = await startProgram({
  directory: join(home, 'server'),
  isServer: true,
  nodeFlags:
    profileDirectory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`],
  environment: FILL_ENVIRONMENT,
})
const agents = new SimulatedFleet()
try {
  await fill()
} finally {
  agents.stop()
  await program.stop()
  await rm(home, { recursive: true })
}

async function fill(): Promise<void> {
  const connectMs = await agents.connect(program.address, { nodes: NODES, total })
  const idleReport = await agents.report()
  const before = await costsOf(program)
  const startMs = machineMs()
  const connections = await openConnections(program.port, CONNECTIONS)
  const [submission, report] = await Promise.all([
    submitJobs(connections, { jobs: JOBS, count: COUNT }),
    agents.untilAllRun(total),
  ])
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

/** Checks the summaries of a few jobs and the total number of allocations. */
async function checkAllRun(): Promise<void> {
  const known = await program.metric('allocations')
  if (known !== total) throw new Error(`the server has ${known} allocations instead of ${total}`)
  for (const at of [0, Math.floor(JOBS / 2), JOBS - 1]) {
    const answer = await fetch(`${program.address}/v1/job/job-${at}/summary`)
    // Proof: the route returns a job summary.
    const { Summary } = (await answer.json()) as { Summary: Record<string, { Running: number }> }
    if (Summary['app']?.Running !== COUNT)
      throw new Error(`job-${at}: ${JSON.stringify(Summary)} instead of ${COUNT} running`)
  }
}

/** Time from the creation of evaluations to their plans. */
async function evaluationLatency(): Promise<string> {
  const answer = await fetch(`${program.address}/v1/evaluations?per_page=1000`)
  // Times are nanoseconds; the rounded last digits are irrelevant here.
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
  /** CPU time of the JavaScript thread; other threads collect garbage and compact tables. */
  readonly mainSeconds: number
  readonly rssBytes: number
  readonly rssBytesMax: number
}

async function costsOf(server: RunningProgram): Promise<Costs> {
  const { pid } = server
  const { residentBytes, residentBytesMax } = await memoryOf(pid)
  return {
    commits: await server.metric('state_durable_index'),
    cpuSeconds: await readCpuSeconds(`/proc/${pid}/stat`),
    // The main thread has the id of the process.
    mainSeconds: await readCpuSeconds(`/proc/${pid}/task/${pid}/stat`),
    rssBytes: residentBytes,
    rssBytesMax: residentBytesMax,
  }
}

function textFlag(name: string): string | undefined {
  const prefix = `--${name}=`
  return process.argv.find((argument) => argument.startsWith(prefix))?.slice(prefix.length)
}

function numberFlag(name: string): number | undefined {
  const text = textFlag(name)
  return text === undefined ? undefined : Number(text)
}
