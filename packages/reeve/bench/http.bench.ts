/**
 * The program over HTTP compared with a bare `node:http` server on the same machine, and the time
 * from submitting a job to its running process. `node packages/reeve/bench/http.bench.ts [--quick]`
 *
 * The program and the bare server are children; this process is the client, with 64 keep-alive
 * connections that each wait for a response before the next request.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, isEventOf, type Client } from '@reeve/sdk'
import { openEmbeddedEngine } from '../src/storage/index.ts'
import * as http from './http-connection.ts'
import { requestText, type HttpConnection } from './http-connection.ts'
import { idleJob, sleepJob, SLEEP } from './jobs.ts'
import { better, fixed, isQuick, printTable, rateOf, sharedRateOf, summary } from './measure.ts'
import { whole, type Rate } from './measure.ts'
import { cpuMicroseconds } from './process-costs.ts'
import { startBareServer, startProgram, type RunningProgram } from './program.ts'

const CONNECTIONS = 64
const ROUNDS = isQuick ? 1 : 2
const MEASURE_MS = isQuick ? 400 : 2_500
const WARM_UP_MS = isQuick ? 200 : 1_500
/**
 * A new process compiles hot code on the core that the client needs. Until 2026-11-15 this was 1.5
 * s: earlier figures are not comparable.
 */
const REGISTER_WARM_UP_MS = isQuick ? 200 : 12_000
/**
 * Old objects are collected every ten to twenty seconds, so p99 of a few seconds is arbitrary.
 * Until 2026-11-17 this was 5 s: earlier p99 figures are not comparable.
 */
const REGISTER_MS = isQuick ? 800 : 20_000
const LISTED_JOBS = 1_000
const RUNS = isQuick ? 5 : 40
const TEXTS_MAX = 4_096

const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
const bare = await startBareServer()
try {
  const program = await startProgram({ directory: join(home, 'program') })
  try {
    await benchRunning(program)
    await benchReads(program)
  } finally {
    await program.stop()
  }
  await benchRegister()
} finally {
  await bare.stop()
  await rm(home, { recursive: true })
}

/** From sending the job until an event reports its only task as running. */
async function benchRunning({ address }: RunningProgram): Promise<void> {
  const client = createClient({ address })
  const running = runningMoments(client)
  await running.ready
  const tookMs: number[] = []
  for (let run = -1; run < RUNS; run++) {
    const id = `run-${run}`
    const start = performance.now()
    await client.v1.registerJob({ body: { Job: sleepJob(id) } })
    const ms = (await running.momentOf(id)) - start
    // The first run also includes compilation.
    if (run >= 0) tookMs.push(ms)
    await client.v1.stopJob({ params: { job_id: id }, query: { purge: true } })
  }
  running.stop()
  const ours = summary(tookMs, 1)
  const spawned = await rateOf(MEASURE_MS, spawnAndKill)
  process.stdout.write(`From submission to running, one raw_exec task, ${RUNS} runs
ratio: to starting the same command from a bare Node process
`)
  printTable(
    ['', 'p50 ms', 'p99 ms', 'max ms', 'ratio of p50'],
    [
      ['bare spawn', fixed(spawned.p50), fixed(spawned.p99), fixed(spawned.max), '1.00'],
      [
        'submit to running',
        fixed(ours.p50),
        fixed(ours.p99),
        fixed(ours.max),
        fixed(ours.p50 / spawned.p50),
      ],
    ],
  )
}

interface RunningMoments {
  /** Resolves when the stream is open and no event can be missed. */
  readonly ready: Promise<void>
  momentOf(jobId: string): Promise<number>
  stop(): void
}

/** Follows the event stream and records when the allocation of each job first runs. */
function runningMoments(client: Client): RunningMoments {
  const abort = new AbortController()
  const moments = new Map<string, PromiseWithResolvers<number>>()
  const ofJob = (id: string): PromiseWithResolvers<number> => {
    const known = moments.get(id) ?? Promise.withResolvers<number>()
    moments.set(id, known)
    return known
  }
  const ready = Promise.withResolvers<void>()
  const follow = async (): Promise<void> => {
    const request = { topics: ['Allocation' as const], heartbeats: true, signal: abort.signal }
    for await (const line of client.events(request)) {
      ready.resolve()
      for (const event of line.Events ?? []) {
        if (!isEventOf(event, 'Allocation')) continue
        const { JobID, ClientStatus } = event.Payload.Allocation
        if (ClientStatus === 'running') ofJob(JobID).resolve(performance.now())
      }
    }
  }
  follow().catch((thrown: unknown) => {
    if (!abort.signal.aborted) throw thrown
  })
  return {
    ready: ready.promise,
    momentOf: (id) => ofJob(id).promise,
    stop: () => abort.abort(),
  }
}

async function spawnAndKill(): Promise<void> {
  const child = spawn(SLEEP.command, [...SLEEP.args], { stdio: 'ignore' })
  await once(child, 'spawn')
  child.kill('SIGKILL')
}

async function benchReads(program: RunningProgram): Promise<void> {
  const client = createClient({ address: program.address })
  const allocation = await startOneAllocation(client)
  const [registrar] = await http.openConnections(program.port, 1)
  if (registrar === undefined) return
  for (let at = 0; at < LISTED_JOBS; at++)
    await http.sendOk(registrar, requestText('/v1/jobs', { Job: idleJob(`listed-${at}`) }))
  registrar.close()
  const connections = {
    ours: await http.openConnections(program.port, CONNECTIONS),
    bare: await http.openConnections(bare.port, CONNECTIONS),
  }
  const paths = {
    'one allocation': `/v1/allocation/${allocation}`,
    'one job': '/v1/job/listed-7',
    [`20 of ${whole(LISTED_JOBS)} jobs`]: '/v1/jobs?per_page=20',
    'who leads': '/v1/status/leader',
  }
  const table: string[][] = []
  for (const [what, path] of Object.entries(paths))
    table.push([what, ...(await comparedReads(connections, path))])
  for (const connection of [...connections.ours, ...connections.bare]) connection.close()
  await client.v1.stopJob({ params: { job_id: 'read' }, query: { purge: true } })
  process.stdout.write(`Reads over ${CONNECTIONS} connections
ratio: to a bare server that answers with as many bytes
`)
  printTable(['', 'bytes', 'bare/s', 'ours/s', 'ratio', 'p50 ms', 'p99 ms'], table)
}

interface Connections {
  readonly ours: readonly HttpConnection[]
  readonly bare: readonly HttpConnection[]
}

async function comparedReads(connections: Connections, path: string): Promise<string[]> {
  const request = requestText(path)
  const [first] = connections.ours
  const bytes = first === undefined ? 0 : (await http.sendOk(first, request)).body.length
  const bareRequest = requestText(`/bytes/${bytes}`)
  await readRate(connections.ours, request, WARM_UP_MS)
  await readRate(connections.bare, bareRequest, WARM_UP_MS)
  let ours = await readRate(connections.ours, request, MEASURE_MS)
  let baseline = await readRate(connections.bare, bareRequest, MEASURE_MS)
  for (let round = 1; round < ROUNDS; round++) {
    ours = better(ours, await readRate(connections.ours, request, MEASURE_MS))
    baseline = better(baseline, await readRate(connections.bare, bareRequest, MEASURE_MS))
  }
  return [
    whole(bytes),
    whole(baseline.perSecond),
    whole(ours.perSecond),
    fixed(ours.perSecond / baseline.perSecond),
    fixed(ours.p50),
    fixed(ours.p99),
  ]
}

async function readRate(
  connections: readonly HttpConnection[],
  request: string,
  durationMs: number,
): Promise<Rate> {
  return await sharedRateOf(
    durationMs,
    connections.map((connection) => () => http.sendOk(connection, request)),
  )
}

async function startOneAllocation(client: Client): Promise<string> {
  const running = runningMoments(client)
  await running.ready
  await client.v1.registerJob({ body: { Job: sleepJob('read') } })
  await running.momentOf('read')
  running.stop()
  const { data } = await client.v1.listJobAllocations({ params: { job_id: 'read' } })
  const id = data[0]?.ID
  if (id === undefined) throw new Error('the job has no allocation')
  return id
}

/**
 * Registers distinct jobs, each durable before its response; then appends the same log entries to
 * the bare engine.
 */
async function benchRegister(): Promise<void> {
  const directory = join(home, 'register')
  const program = await startProgram({ directory })
  let next = 0
  const connections = await http.openConnections(program.port, CONNECTIONS)
  const callers = connections.map(
    (connection) => () =>
      http.sendOk(connection, requestText('/v1/jobs', { Job: idleJob(`registered-${next++}`) })),
  )
  await sharedRateOf(REGISTER_WARM_UP_MS, callers)
  const before = await program.metric('state_durable_index')
  const clientCpu = process.cpuUsage()
  const programUs = await cpuMicroseconds(program.pid)
  const ours = await sharedRateOf(REGISTER_MS, callers)
  const spent = {
    program: (await cpuMicroseconds(program.pid)) - programUs,
    client: sumOf(process.cpuUsage(clientCpu)),
  }
  const after = await program.metric('state_durable_index')
  const waiting = await program.metric('evaluations_pending')
  for (const connection of connections) connection.close()
  await program.stop()
  const commitsPerSecond = ((after - before) / REGISTER_MS) * 1_000
  const texts = await loggedTexts(join(directory, 'server', 'storage'))
  const bareAppends = await appendRate(texts)
  const bareServer = await appendingRate(texts.at(-1)?.length ?? 0)
  process.stdout.write(`Registrations of distinct jobs, ${CONNECTIONS} connections, durable
each is one commit: the job, its evaluation and what the scheduler decided
bare server: parses the same bodies, appends as many bytes durably, and answers
bare engine: appends the same entries, ${CONNECTIONS} at a time
µs: processor time of all threads for one job, of the program and of the client beside it
`)
  const jobs = (ours.perSecond * REGISTER_MS) / 1_000
  printTable(
    [
      '',
      'jobs/s',
      'entries/s',
      'of bare server',
      'of bare engine',
      'p50 ms',
      'p99 ms',
      'still to evaluate',
      'µs',
      'client µs',
    ],
    [
      ['bare engine', '', whole(bareAppends), '', '1.00', '', '', '', '', ''],
      [
        'bare server',
        whole(bareServer.perSecond),
        '',
        '1.00',
        '',
        fixed(bareServer.p50),
        fixed(bareServer.p99),
        '',
        '',
        '',
      ],
      [
        'POST /v1/jobs',
        whole(ours.perSecond),
        whole(commitsPerSecond),
        fixed(ours.perSecond / bareServer.perSecond),
        fixed(commitsPerSecond / bareAppends),
        fixed(ours.p50),
        fixed(ours.p99),
        whole(waiting),
        whole(spent.program / jobs),
        whole(spent.client / jobs),
      ],
    ],
  )
}

/** Baseline: a server that only parses, appends and responds. */
async function appendingRate(bytes: number): Promise<Rate> {
  const connections = await http.openConnections(bare.port, CONNECTIONS)
  const request = requestText(`/append/${bytes}`, { Job: idleJob('appended') })
  await readRate(connections, request, WARM_UP_MS)
  const rate = await readRate(connections, request, MEASURE_MS * 2)
  for (const connection of connections) connection.close()
  return rate
}

function sumOf({ user, system }: NodeJS.CpuUsage): number {
  return user + system
}

async function loggedTexts(directory: string): Promise<string[]> {
  const engine = await openEmbeddedEngine(directory)
  const texts: string[] = []
  for await (const { text } of engine.read(engine.initialPosition.firstIndex)) {
    texts.push(text)
    if (texts.length === TEXTS_MAX) break
  }
  await engine.close()
  return texts
}

async function appendRate(texts: readonly string[]): Promise<number> {
  const engine = await openEmbeddedEngine(join(home, 'bare'))
  let index = 0
  const entry = () => ({
    index: ++index,
    timeMs: 0,
    text: texts[index % texts.length] ?? '',
    blobs: [],
  })
  const append = (): Promise<void> => engine.append(Array.from({ length: CONNECTIONS }, entry))
  await rateOf(WARM_UP_MS, append)
  const rate = await rateOf(MEASURE_MS, append)
  await engine.close()
  return rate.perSecond * CONNECTIONS
}
