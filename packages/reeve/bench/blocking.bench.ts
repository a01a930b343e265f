/**
 * The memory of 10,000 parked blocking queries, and the time to wake one or all of them, compared
 * with a bare `node:http` server that holds as many requests. `node
 * packages/reeve/bench/blocking.bench.ts [--quick]`
 *
 * Every parked query is a connection: four client processes hold 2,500 each, and the server needs
 * all 10,000. If the system allows fewer open files, fewer are parked, and the table gives the
 * number.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as http from './http-connection.ts'
import { requestText, type HttpConnection } from './http-connection.ts'
import { idleJob } from './jobs.ts'
import { fixed, isQuick, machineMs, megabytes, printTable, timed, whole } from './measure.ts'
import type { ParkedCommand, ParkedReport } from './parked-clients.ts'
import { startBareServer, startProgram, type RunningProgram } from './program.ts'

const CLIENT_PROCESSES = 4
const REGISTRARS = 64
/** Open files that the server needs besides parked queries. */
const FILES_SPARE = 500
const COUNT = Math.min(isQuick ? 1_000 : 10_000, openFilesMax() - FILES_SPARE)
const ROW_PATH = (at: number, index: number): string =>
  `/v1/job/parked-${at}?index=${index}&wait=10m`
const TABLE_PATH = (index: number): string => `/v1/jobs?per_page=1&index=${index}&wait=10m`
const LAG = 'nodejs_eventloop_lag_max_seconds'
const WAIT_MS_MAX = 60_000

/** Measurements of one server. */
interface Held {
  readonly bytes: number
  readonly answeredMs: number
  readonly calmMs: number
  readonly probeMs: number
}

const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
const clients = Array.from({ length: CLIENT_PROCESSES }, startClients)
try {
  await registerJobs()
  const program = await startProgram({ directory: home })
  let ours: Ours
  try {
    ours = await benchProgram(program)
  } finally {
    await program.stop()
  }
  report(ours, await benchBare(ours.answerBytes))
} finally {
  for (const client of clients) client.disconnect()
  await rm(home, { recursive: true })
}

interface Ours extends Held {
  /** From the change of a row to its only response. */
  readonly oneMs: number
  /** Longest event loop turn of the program while it answered all queries. */
  readonly stallMs: number
  readonly answerBytes: number
}

function report(ours: Ours, bare: Held): void {
  process.stdout.write(`${whole(COUNT)} parked blocking queries
a commit of one row answered 1 of them, ${fixed(ours.oneMs)} ms after it was sent
while all were answered, the program's event loop stalled for ${fixed(ours.stallMs)} ms at most
`)
  const row = (what: string, of: Held): string[] => [
    what,
    megabytes(of.bytes),
    whole(of.bytes / COUNT),
    whole(of.answeredMs),
    fixed(of.calmMs),
    fixed(of.probeMs),
  ]
  const ratio = (pick: (of: Held) => number): string => fixed(pick(ours) / pick(bare))
  printTable(
    ['', 'memory', 'bytes each', 'all answered ms', 'calm ms', 'meanwhile ms'],
    [
      row('bare server', bare),
      row('program', ours),
      [
        'ratio',
        ratio((of) => of.bytes),
        ratio((of) => of.bytes),
        ratio((of) => of.answeredMs),
        ratio((of) => of.calmMs),
        ratio((of) => of.probeMs),
      ],
    ],
  )
  process.stdout.write(`memory: resident bytes that parking them added
all answered: from the one commit that concerns all, until the last caller had its answer
calm, meanwhile: another caller's small request, before (p50) and while they are answered (longest)
`)
}

/** Registers a job for each query, in a separate program, so that the measured one starts clean. */
async function registerJobs(): Promise<void> {
  const program = await startProgram({ directory: home })
  const connections = await http.openConnections(program.port, REGISTRARS)
  let next = 0
  await Promise.all(
    connections.map(async (connection) => {
      while (next < COUNT) await http.sendOk(connection, register(`parked-${next++}`))
    }),
  )
  for (const connection of connections) connection.close()
  await untilQuiet(program)
  await program.stop()
}

function register(id: string, meta: Readonly<Record<string, string>> = {}): string {
  return requestText('/v1/jobs', { Job: { ...idleJob(id), Meta: meta } })
}

async function benchProgram(program: RunningProgram): Promise<Ours> {
  const [connection] = await http.openConnections(program.port, 1)
  if (connection === undefined) throw new Error('no connection')
  const index = await untilQuiet(program)
  const before = await program.metric('process_resident_memory_bytes')
  await park(program.port, (at) => ROW_PATH(at, index))
  await untilMetric(program, 'blocking_queries', COUNT)
  const bytes = (await program.metric('process_resident_memory_bytes')) - before
  const oneMs = await wakeOne(program, connection)
  await tellAll(() => ({ kind: 'leave' }))
  await untilMetric(program, 'blocking_queries', 0)
  const now = await untilQuiet(program)
  await park(program.port, () => TABLE_PATH(now))
  await untilMetric(program, 'blocking_queries', COUNT)
  const { body } = await http.sendOk(connection, requestText('/v1/jobs?per_page=1'))
  // Reading this metric resets it.
  await program.metric(LAG)
  const all = await wakeAll({
    port: program.port,
    wake: () => http.sendOk(connection, register('wakes-all')),
  })
  const stallMs = (await program.metric(LAG)) * 1_000
  connection.close()
  return { ...all, bytes, oneMs, stallMs, answerBytes: body.length }
}

/** Changes one row: only the query on that row is answered. */
async function wakeOne(program: RunningProgram, connection: HttpConnection): Promise<number> {
  const start = machineMs()
  await http.sendOk(connection, register('parked-7', { changed: 'yes' }))
  await untilAnswered(1)
  await untilQuiet(program)
  const { answers, lastMs } = await counted()
  if (answers !== 1) throw new Error(`one row changed and ${answers} queries were answered`)
  return lastMs - start
}

async function benchBare(answerBytes: number): Promise<Held> {
  const server = await startBareServer()
  try {
    const [connection] = await http.openConnections(server.port, 1)
    if (connection === undefined) throw new Error('no connection')
    const figure = async (what: string): Promise<number> =>
      Number((await http.sendOk(connection, requestText(`/${what}`))).body.toString())
    const before = await figure('memory')
    await park(server.port, () => '/park')
    while ((await figure('parked')) < COUNT) await pause()
    const bytes = (await figure('memory')) - before
    const release = requestText(`/release/${answerBytes}`)
    const all = await wakeAll({
      port: server.port,
      wake: () => http.sendOk(connection, release),
    })
    connection.close()
    return { ...all, bytes }
  } finally {
    await server.stop()
  }
}

interface Waking {
  readonly port: number
  /** Triggers the response to all parked queries. */
  readonly wake: () => Promise<unknown>
}

/** Measures the responses to all parked queries, while another client sends small requests. */
async function wakeAll({ port, wake }: Waking): Promise<Omit<Held, 'bytes'>> {
  const [prober] = await http.openConnections(port, 1)
  if (prober === undefined) throw new Error('no connection')
  const probes: number[] = []
  const probe = async (): Promise<void> => {
    probes.push(await timed(() => prober.send(requestText('/v1/status/leader'))))
  }
  for (let i = 0; i < 50; i++) await probe()
  const calmMs = probes.toSorted((a, b) => a - b)[25] ?? 0
  probes.length = 0
  const start = machineMs()
  const over = new AbortController()
  const probing = async (): Promise<void> => {
    while (!over.signal.aborted) await probe()
  }
  const waking = async (): Promise<number> => {
    await wake()
    const { lastMs } = await untilAnswered(COUNT)
    over.abort()
    return lastMs
  }
  const [lastMs] = await Promise.all([waking(), probing()])
  prober.close()
  await tellAll(() => ({ kind: 'leave' }))
  return { answeredMs: lastMs - start, calmMs, probeMs: Math.max(...probes) }
}

function startClients(): ChildProcess {
  return fork(fileURLToPath(new URL('./parked-clients.ts', import.meta.url)))
}

async function park(port: number, pathOf: (at: number) => string): Promise<void> {
  const paths = Array.from({ length: COUNT }, (_, at) => pathOf(at))
  const share = Math.ceil(COUNT / CLIENT_PROCESSES)
  await tellAll((at) => ({
    kind: 'park',
    port,
    paths: paths.slice(at * share, (at + 1) * share),
  }))
}

async function tellAll(commandFor: (at: number) => ParkedCommand): Promise<ParkedReport[]> {
  return await Promise.all(
    clients.map(async (client, at) => {
      client.send(commandFor(at))
      // Proof: clients send only reports, one per command.
      const [message] = (await once(client, 'message')) as [ParkedReport]
      return message
    }),
  )
}

async function counted(): Promise<ParkedReport> {
  const reports = await tellAll(() => ({ kind: 'count' }))
  const [failure] = reports.flatMap((one) => one.failures)
  if (failure !== undefined) throw new Error(`a parked query failed: ${failure}`)
  return {
    answers: reports.reduce((sum, one) => sum + one.answers, 0),
    lastMs: Math.max(...reports.map((one) => one.lastMs)),
    failures: [],
  }
}

async function untilAnswered(count: number): Promise<ParkedReport> {
  const endMs = machineMs() + WAIT_MS_MAX
  for (;;) {
    const state = await counted()
    if (state.answers >= count) return state
    if (machineMs() > endMs) throw new Error(`${state.answers} of ${count} were answered`)
    await pause()
  }
}

async function untilMetric(program: RunningProgram, name: string, value: number): Promise<void> {
  const endMs = machineMs() + WAIT_MS_MAX
  while ((await program.metric(name)) !== value) {
    if (machineMs() > endMs) throw new Error(`${name} never became ${value}`)
    await pause()
  }
}

/** Waits until all evaluations and writes have finished; returns the index. */
async function untilQuiet(program: RunningProgram): Promise<number> {
  await untilMetric(program, 'evaluations_pending', 0)
  let before = -1
  for (;;) {
    const index = await program.metric('state_durable_index')
    if (index === before) return index
    before = index
    await pause()
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50))
}

/** The system limit per process; Node raises its own limit to it. */
function openFilesMax(): number {
  // Proof: Node's report is untyped; if a field is missing, the usual default applies.
  const system = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly hard?: number | string } }
  }
  const hard = system.userLimits?.open_files?.hard
  return hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard ?? 1_024)
}
