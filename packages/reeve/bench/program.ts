import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { PROGRAM } from '../test/build/program.ts'

/** A child process that listens on a port of 127.0.0.1. */
export interface Listening {
  readonly port: number
  /** Process id, for measuring its costs. */
  readonly pid: number
  /** Stops it gracefully and waits for the exit. */
  stop(): Promise<void>
  /** Kills it, like a power failure. */
  kill(): Promise<void>
}

/** The real program, started as by a user. */
export interface RunningProgram extends Listening {
  readonly address: string
  /** A value of `/v1/metrics`, by its name without prefix. */
  metric(name: string): Promise<number>
}

export interface ProgramOptions {
  /** The data directory, which may contain data. */
  readonly directory: string
  readonly flags?: readonly string[]
  /** Starts a server alone instead of `--dev`. */
  readonly isServer?: boolean
  /** Flags for its Node, such as the profiler's: NODE_OPTIONS would affect other children too. */
  readonly nodeFlags?: readonly string[]
  /** Environment variables in addition to those of this process. */
  readonly environment?: Readonly<Record<string, string>>
}

/** The Node flags of `bin/reeve`. */
export function flagsOfUsers(): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../../bin/runtime-flags'), 'utf8')
  return text.split('\n').filter((line) => line.startsWith('--'))
}

/** The settings of `bin/reeve` for the C library's allocator. */
function allocatorSettingsOfUsers(): Record<string, string> {
  const script = readFileSync(join(import.meta.dirname, '../../../bin/reeve'), 'utf8')
  const settings = script.matchAll(/\{(?<name>MALLOC_\w+):-(?<value>\d+)\}/g)
  return Object.fromEntries(Array.from(settings, ([, name = '', value = '']) => [name, value]))
}

/** Starts `reeve agent` on a free port. */
export async function startProgram(options: ProgramOptions): Promise<RunningProgram> {
  const where = ['--data-dir', options.directory, '--http-port', '0']
  const mode = options.isServer === true ? ['--server', '--bind', '127.0.0.1'] : ['--dev']
  const flags = ['--log-level', 'warn', ...(options.flags ?? [])]
  const child = await startListening(PROGRAM, {
    flags: ['agent', ...mode, ...where, ...flags],
    nodeFlags: [...flagsOfUsers(), ...(options.nodeFlags ?? [])],
    environment: { ...allocatorSettingsOfUsers(), ...options.environment },
  })
  const address = `http://127.0.0.1:${child.port}`
  return { ...child, address, metric: (name) => readMetric(address, name) }
}

export interface NodeOptions {
  readonly name: string
  readonly directory: string
  /** Port of its server on 127.0.0.1. */
  readonly serverPort: number
  readonly environment: Readonly<Record<string, string>>
}

/** Starts `reeve agent --client`, which does not listen: `port` is that of its server. */
export async function startNode(options: NodeOptions): Promise<Listening> {
  const { name, directory, serverPort, environment } = options
  const dialled = ['--client', '--join', `127.0.0.1:${serverPort}`]
  const flags = [...dialled, '--data-dir', directory, '--node-name', name, '--log-level', 'error']
  return await startListening(PROGRAM, {
    flags: ['agent', ...flags],
    nodeFlags: flagsOfUsers(),
    environment,
  })
}

/**
 * Writes the sealing key of a data directory whose rows were not written by the program: a server
 * with state but without a key does not start.
 */
export async function writeSealingKey(directory: string): Promise<void> {
  const path = join(directory, 'server', 'sealing-key')
  await writeFile(path, randomBytes(SEALING_KEY_BYTES), { mode: 0o600 })
}

const SEALING_KEY_BYTES = 32

interface Start {
  readonly flags: readonly string[]
  readonly nodeFlags: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

const NOTHING_ELSE: Start = { flags: [], nodeFlags: [], environment: {} }

/** Starts a script that prints `http://127.0.0.1:<port>` once it listens. */
async function startListening(script: string, how: Start = NOTHING_ELSE): Promise<Listening> {
  const child = spawn(process.execPath, [...how.nodeFlags, script, ...how.flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...how.environment },
  })
  endWithUs(child)
  const port = await portOf(child)
  const kill = async (): Promise<void> => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return { port, pid: child.pid ?? 0, stop: () => stop(child), kill }
}

/** Running children. One exit listener serves all: a benchmark may start and kill a hundred. */
const running = new Set<ChildProcess>()

function endWithUs(child: ChildProcess): void {
  if (running.size === 0) process.once('exit', endAll)
  running.add(child)
  child.once('exit', () => {
    running.delete(child)
    if (running.size === 0) process.off('exit', endAll)
  })
}

function endAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

async function portOf(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error('the child has no standard output')
  // Continues reading after the port, so that the child never blocks on its output.
  const lines = createInterface({ input: child.stdout })
  return await new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${nameOf(child)} ended with ${code}`)))
  })
}

/** The script name after the Node flags. */
function nameOf({ spawnargs }: ChildProcess): string {
  return spawnargs.find((argument) => argument.endsWith('.ts')) ?? 'the child'
}

/** With a million rows the last checkpoint takes half a minute on a slow disk. */
const STOP_MS_MAX = 90_000

/** A program that does not stop is an error and is killed. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await ended
  clearTimeout(late)
  if (child.signalCode === 'SIGKILL') throw new Error(`${nameOf(child)} did not stop`)
}

async function readMetric(address: string, name: string): Promise<number> {
  const answer = await fetch(`${address}/v1/metrics?format=prometheus`)
  const line = new RegExp(`^service_${name} (.*)$`, 'm').exec(await answer.text())
  if (line?.[1] === undefined) throw new Error(`the program has no metric ${name}`)
  return Number(line[1])
}

/** The baseline, `bare-server.ts`, which documents its routes. */
export async function startBareServer(): Promise<Listening> {
  return await startListening(fileURLToPath(new URL('./bare-server.ts', import.meta.url)))
}
