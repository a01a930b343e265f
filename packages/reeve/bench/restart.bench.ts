/**
 * Kills a server while its cluster is filling and restarts it; then stops it gracefully and
 * restarts it again. `node packages/reeve/bench/restart.bench.ts [--quick] [--allocations=N]`
 * `[--nodes=N]`
 *
 * Prints the time until it responds and its peak memory after the kill, relative to the graceful
 * restart and to the killed server.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { FILL_ENVIRONMENT, SimulatedFleet, submitJobs } from './cluster-fill.ts'
import { openConnections } from './http-connection.ts'
import { fixed, isQuick, machineMs, megabytes, printTable, whole } from './measure.ts'
import { memoryOf, readCpuSeconds } from './process-costs.ts'
import { startProgram, type RunningProgram } from './program.ts'

const COUNT = 1_000
const TOTAL = numberFlag('allocations') ?? (isQuick ? 50_000 : 1_000_000)
const JOBS = Math.ceil(TOTAL / COUNT)
/** Each node has capacity for some two hundred allocations. */
const NODES = numberFlag('nodes') ?? Math.max(100, Math.ceil((JOBS * COUNT) / 200))
const CONNECTIONS = 16
/** Polling interval of the checkpoint mark during filling. */
const MARK_MS = 1_000
/** Goals of the product at a million allocations. */
const TIME_RATIO_MAX = 1.5
const MEMORY_RATIO_MAX = 1.3

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const home = await mkdtemp(join(tmpdir(), 'reeve-restart-'))
const directory = join(home, 'server')
try {
  await measure()
} finally {
  await rm(home, { recursive: true })
}

async function measure(): Promise<void> {
  const filled = await fillAndKill()
  const killed = await restart()
  await killed.program.stop()
  const orderly = await restart()
  await orderly.program.stop()
  const timeRatio = killed.seconds / orderly.seconds
  const memoryRatio = killed.bytesMax / filled.bytesMax
  process.stdout.write(`${whole(JOBS * COUNT)} allocations on ${whole(NODES)} nodes, durable;
load average ${loadavg().map(fixed).join(' ')}
`)
  printTable(
    ['', 's', 'CPU s', 'largest RSS', 'RSS'],
    [
      ['filled, then killed', ...cells(filled)],
      ['restart after the kill', ...cells(killed)],
      ['restart after a stop', ...cells(orderly)],
    ],
  )
  printTable(
    ['', 'measured', 'goal'],
    [
      ['time, killed / orderly', fixed(timeRatio), fixed(TIME_RATIO_MAX)],
      ['processor time, killed / orderly', fixed(killed.cpuSeconds / orderly.cpuSeconds), ''],
      ['memory, killed / running', fixed(memoryRatio), fixed(MEMORY_RATIO_MAX)],
      ['memory, orderly / running', fixed(orderly.bytesMax / filled.bytesMax), ''],
      ['checkpoint mark / last index at the kill', `${filled.upTo} / ${filled.index}`, ''],
      ['moves of the mark while it filled', String(filled.moves), ''],
    ],
  )
}

async function fillAndKill() {
  const program = await startProgram({ directory, isServer: true, environment: FILL_ENVIRONMENT })
  const fleet = new SimulatedFleet()
  const marks = new Set<number>()
  const timer = setInterval(() => void markIn(directory).then((upTo) => marks.add(upTo)), MARK_MS)
  try {
    await fleet.connect(program.address, { nodes: NODES, total: JOBS * COUNT })
    const startMs = machineMs()
    const connections = await openConnections(program.port, CONNECTIONS)
    await Promise.all([
      submitJobs(connections, { jobs: JOBS, count: COUNT }),
      fleet.untilAllRun(JOBS * COUNT),
    ])
    const seconds = (machineMs() - startMs) / 1_000
    const index = await program.metric('state_durable_index')
    const costs = await costsOf(program, seconds)
    await program.kill()
    return { ...costs, index, upTo: await markIn(directory), moves: marks.size - 1 }
  } finally {
    clearInterval(timer)
    fleet.stop()
  }
}

async function restart() {
  const startMs = machineMs()
  const program = await startProgram({ directory, isServer: true, environment: FILL_ENVIRONMENT })
  const costs = await costsOf(program, (machineMs() - startMs) / 1_000)
  const known = await program.metric('allocations')
  if (known !== JOBS * COUNT) throw new Error(`${known} allocations instead of ${JOBS * COUNT}`)
  return { program, ...costs }
}

interface Costs {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly bytes: number
  readonly bytesMax: number
}

async function costsOf({ pid }: RunningProgram, seconds: number): Promise<Costs> {
  const { residentBytes: bytes, residentBytesMax: bytesMax } = await memoryOf(pid)
  return { seconds, cpuSeconds: await readCpuSeconds(`/proc/${pid}/stat`), bytes, bytesMax }
}

function cells({ seconds, cpuSeconds, bytes, bytesMax }: Costs): string[] {
  return [fixed(seconds), fixed(cpuSeconds), megabytes(bytesMax), megabytes(bytes)]
}

/** The index of the checkpoint in a data directory, as recorded by the server. */
async function markIn(data: string): Promise<number> {
  const text = await readFile(join(data, 'server/storage/REACHED'), 'utf8').catch(() => '')
  return Number(/"upTo":(\d+)/.exec(text)?.[1] ?? 0)
}

function numberFlag(name: string): number | undefined {
  const prefix = `--${name}=`
  const text = process.argv.find((argument) => argument.startsWith(prefix))?.slice(prefix.length)
  return text === undefined ? undefined : Number(text)
}
