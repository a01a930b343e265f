/** An agent of a release that runs for as long as a check uses it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { run } from '../opened.ts'

export interface AgentOptions {
  /** The program and what comes before its own arguments. */
  readonly program: readonly string[]
  /** After `agent`; the port is added. */
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly uid?: number
  readonly port?: number
  /** A node alone opens no port: its servers know when it is ready. */
  readonly isNode?: boolean
}

export interface RunningAgent {
  readonly address: string
  readonly pid: number
  /** From the start of the process to the first 200 of the health endpoint. */
  readonly readyMs: number
  readonly output: () => string
  /** A command against this agent. */
  cli(...args: string[]): string
  get(path: string): Promise<unknown>
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

const READY_MS_MAX = 90_000
const POLL_MS = 25

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return address.port
}

export async function startAgent(options: AgentOptions): Promise<RunningAgent> {
  const { program, args, env = {}, uid } = options
  const port = options.port ?? (await freePort())
  const address = `http://127.0.0.1:${port}`
  const [command = '', ...before] = program
  const startedMs = performance.now()
  const child = spawn(command, [...before, 'agent', '--http-port', String(port), ...args], {
    env: {
      HOME: '/nonexistent',
      PATH: process.env['PATH'] ?? '',
      REEVE_ACL: 'false',
      REEVE_RAW_EXEC: 'true',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  let output = ''
  const add = (data: Buffer): void => void (output = `${output}${data.toString()}`.slice(-65_536))
  child.stdout.on('data', add)
  child.stderr.on('data', add)
  const ended = once(child, 'exit')
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal)
      await ended
    }
    return child.exitCode
  }
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null)
      throw new Error(`the agent ended with ${child.exitCode}: ${output}`)
    const answer = await fetch(`${address}/v1/agent/health`).catch(() => undefined)
    return answer?.ok === true
  }
  try {
    if (options.isNode !== true) await waitFor(isReady, 'the agent to be healthy', READY_MS_MAX)
  } catch (thrown) {
    await stop('SIGKILL')
    throw thrown
  }
  return {
    address,
    pid: child.pid ?? 0,
    readyMs: performance.now() - startedMs,
    output: () => output,
    cli: (...words) =>
      run(command, [...before, ...words], {
        env: { HOME: '/nonexistent', PATH: '/usr/bin:/bin', REEVE_ADDR: address },
      }),
    get: async (path) => await (await fetch(`${address}${path}`)).json(),
    stop,
  }
}

export async function withAgent<T>(
  options: AgentOptions,
  use: (agent: RunningAgent) => Promise<T> | T,
): Promise<T> {
  const agent = await startAgent(options)
  try {
    return await use(agent)
  } finally {
    await agent.stop()
  }
}

export async function waitFor(
  isTrue: () => Promise<boolean> | boolean,
  what: string,
  msMax: number,
): Promise<void> {
  const startedMs = performance.now()
  while (!(await isTrue())) {
    if (performance.now() - startedMs > msMax)
      throw new Error(`waited ${Math.round(msMax / 1_000)} s for ${what}`)
    await pause(POLL_MS)
  }
}

/** A folder that a check may fill, readable by other users; removed afterwards. */
export async function withTempFolder<T>(use: (folder: string) => Promise<T> | T): Promise<T> {
  const folder = fs.mkdtempSync('/tmp/reeve-check-')
  fs.chmodSync(folder, 0o755)
  try {
    return await use(folder)
  } finally {
    unmountUnder(folder)
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** An agent of root keeps secrets of allocations in memory, on mounts that outlive it. */
function unmountUnder(folder: string): void {
  const points = fs
    .readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ').slice(1, 2))
    .filter((point) => point.startsWith(`${folder}/`))
  for (const point of points.toReversed()) run('umount', ['--lazy', point])
}

/** A job of one process that goes on until it is stopped, and prints its environment first. */
export function jobText(name: string, driver = 'raw_exec'): string {
  return `job "${name}" {
  type = "service"
  group "main" {
    task "main" {
      driver = "${driver}"
      config {
        command = "/bin/sh"
        args    = ["-c", "env; grep Cap /proc/self/status; cat /proc/self/oom_score_adj; echo ready; exec sleep 100000"]
      }
      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`
}

export function writeJob(folder: string, name: string, driver?: string): string {
  const file = join(folder, `${name}.hcl`)
  fs.writeFileSync(file, jobText(name, driver))
  return file
}
