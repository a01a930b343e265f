/**
 * What the undocumented members of the runtime gain that `http/transport/runtime-internals.ts`
 * uses. Two programs, one of them with `--plain-http`, take turns in one run.
 * `node packages/reeve/bench/transport.bench.ts [--quick]`
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openConnections, requestText, sendOk } from './http-connection.ts'
import { idleJob } from './jobs.ts'
import { fixed, isQuick, printTable, sharedRateOf, whole } from './measure.ts'
import { mainThreadMicroseconds, memoryOf } from './process-costs.ts'
import { startProgram, type RunningProgram } from './program.ts'

const CONNECTIONS = 32
const ROUNDS = isQuick ? 3 : 9
const ROUND_MS = isQuick ? 300 : 1_500
const PARKED = isQuick ? 300 : 4_000
const JOBS = 200
const SETTLE_MS = 2_000

interface Variant {
  readonly name: string
  readonly program: RunningProgram
}

const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
const variants: Variant[] = []
try {
  variants.push(await startVariant('default', []))
  variants.push(await startVariant('--plain-http', ['--plain-http']))
  await benchReads()
  await benchParked()
} finally {
  for (const { program } of variants) await program.stop()
  await rm(home, { recursive: true })
}

async function startVariant(name: string, flags: readonly string[]): Promise<Variant> {
  const program = await startProgram({ directory: join(home, name), flags })
  const [first] = await openConnections(program.port, 1)
  if (first === undefined) throw new Error('no connection')
  for (let at = 0; at < JOBS; at++)
    await sendOk(first, requestText('/v1/jobs', { Job: idleJob(`job-${at}`) }))
  first.close()
  return { name, program }
}

/** Processor time of the main thread for one small read: medians of alternating rounds. */
async function benchReads(): Promise<void> {
  const paths = ['/v1/job/job-7', '/v1/status/leader', '/v1/jobs?per_page=20']
  const rows: string[][] = []
  for (const path of paths) {
    const tookUs = variants.map((): number[] => [])
    for (let round = -1; round < ROUNDS; round++)
      for (const [at, variant] of variants.entries()) {
        const us = await readMicroseconds(variant, requestText(path))
        // The first round compiles the code.
        if (round >= 0) tookUs[at]?.push(us)
      }
    const [own = 0, plain = 0] = tookUs.map(median)
    rows.push([path, fixed(own), fixed(plain), fixed(plain / own)])
  }
  process.stdout.write(`Small reads, ${CONNECTIONS} connections: µs of the main thread each\n`)
  printTable(['', 'default', '--plain-http', 'ratio'], rows)
}

async function readMicroseconds({ program }: Variant, request: string): Promise<number> {
  const { pid, port } = program
  const connections = await openConnections(port, CONNECTIONS)
  const before = await mainThreadMicroseconds(pid)
  const callers = connections.map((connection) => () => sendOk(connection, request))
  const { perSecond } = await sharedRateOf(ROUND_MS, callers)
  const usedUs = (await mainThreadMicroseconds(pid)) - before
  for (const connection of connections) connection.close()
  return usedUs / ((perSecond * ROUND_MS) / 1_000)
}

/** Resident memory of one parked query, its connection included. */
async function benchParked(): Promise<void> {
  const rows: string[][] = []
  for (const { name, program } of variants) {
    const before = (await memoryOf(program.pid)).residentBytes
    const parked = await openConnections(program.port, PARKED)
    for (const connection of parked)
      connection
        .send(requestText('/v1/job/job-7?index=1000000&wait=10m'))
        .catch((thrown: unknown) => process.stderr.write(`${String(thrown)}\n`))
    await untilParked(program)
    const bytes = ((await memoryOf(program.pid)).residentBytes - before) / PARKED
    for (const connection of parked) connection.close()
    rows.push([name, whole(PARKED), fixed(bytes / 1_024)])
  }
  process.stdout.write('Parked blocking queries: KiB of resident memory each\n')
  printTable(['', 'queries', 'KiB'], rows)
}

async function untilParked(program: RunningProgram): Promise<void> {
  const endMs = performance.now() + 60_000
  while ((await program.metric('blocking_queries')) < PARKED) {
    if (performance.now() > endMs) throw new Error('the queries were not parked within a minute')
    await pause(50)
  }
  await pause(SETTLE_MS)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
