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
  /** The process, for those who want to know what it costs. */
  readonly pid: number
  /** Asks it to stop and waits until it has. */
  stop(): Promise<void>
  /** Ends it as a power cut would. */
  kill(): Promise<void>
}

/** The real program, as a user starts it. */
export interface RunningProgram extends Listening {
  readonly address: string
  /** One value of `/v1/metrics`, by its name without prefix. */
  metric(name: string): Promise<number>
}

export interface ProgramOptions {
  /** Its data directory; it may hold data. */
  readonly directory: string
  readonly flags?: readonly string[]
  /** A server alone, as it is installed, instead of `--dev`. */
  readonly isServer?: boolean
  /** For its Node, such as those of the profiler: NODE_OPTIONS would reach other children too. */
  readonly nodeFlags?: readonly string[]
  /** Variables on top of the ones of this process. */
  readonly environment?: Readonly<Record<string, string>>
}

/** The flags that `bin/reeve` passes to Node. */
export function flagsOfUsers(): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../../bin/runtime-flags'), 'utf8')
  return text.split('\n').filter((line) => line.startsWith('--'))
}

/** What `bin/reeve` tells the allocator of the C library. */
function allocatorSettingsOfUsers(): Record<string, string> {
  const script = readFileSync(join(import.meta.dirname, '../../../bin/reeve'), 'utf8')
  const settings = script.matchAll(/\{(?<name>MALLOC_\w+):-(?<value>\d+)\}/g)
  return Object.fromEntries(Array.from(settings, ([, name = '', value = '']) => [name, value]))
}

/** Starts `reeve agent` on any free port. */
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
  /** The port of its server on 127.0.0.1. */
  readonly serverPort: number
  readonly environment: Readonly<Record<string, string>>
}

/** Starts `reeve agent --client`, which listens on no port: its `port` is that of its server. */
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
 * For a data directory whose rows were not written by the program: a server whose state has no key
 * beside it asks where that went, and does not start.
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

/** Starts a script that says `http://127.0.0.1:<port>` once it listens. */
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

/** Those that run. One listener for all: a bench may start and kill a hundred of them. */
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
  // Reading goes on after the answer: a child must not wait for somebody to take what it says.
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

/** The script, behind the flags of its Node. */
function nameOf({ spawnargs }: ChildProcess): string {
  return spawnargs.find((argument) => argument.endsWith('.ts')) ?? 'the child'
}

/** With a million rows the last checkpoint of a slow disk takes half a minute. */
const STOP_MS_MAX = 90_000

/** A program that does not stop is a finding, and must not be left behind. */
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

/** The baseline: `bare-server.ts`, which says what it can be asked for. */
export async function startBareServer(): Promise<Listening> {
  return await startListening(fileURLToPath(new URL('./bare-server.ts', import.meta.url)))
}
