import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A child process that listens on a port of 127.0.0.1. */
export interface Listening {
  readonly port: number
  /** Asks it to stop and waits until it has. */
  stop(): Promise<void>
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
}

/**
 * Starts `reeve agent --dev` on any free port. Flags for its Node, such as those of the profiler,
 * go through NODE_OPTIONS: every child inherits them.
 */
export async function startProgram(options: ProgramOptions): Promise<RunningProgram> {
  const script = fileURLToPath(new URL('../src/main/reeve.ts', import.meta.url))
  const where = ['--data-dir', options.directory, '--http-port', '0']
  const flags = ['--log-level', 'warn', ...(options.flags ?? [])]
  const child = await startListening(script, ['agent', '--dev', ...where, ...flags])
  const address = `http://127.0.0.1:${child.port}`
  return { ...child, address, metric: (name) => readMetric(address, name) }
}

/** Starts a script that says `http://127.0.0.1:<port>` once it listens. */
async function startListening(script: string, flags: readonly string[] = []): Promise<Listening> {
  const child = spawn(process.execPath, [script, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  const port = await portOf(child)
  return { port, stop: () => stop(child) }
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
    child.once('exit', (code) => reject(new Error(`${child.spawnargs[1]} ended with ${code}`)))
  })
}

const STOP_MS_MAX = 30_000

/** A program that does not stop is a finding, and must not be left behind. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await ended
  clearTimeout(late)
  if (child.signalCode === 'SIGKILL') throw new Error(`${child.spawnargs[1]} did not stop`)
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
