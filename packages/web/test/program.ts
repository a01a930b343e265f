import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type Client } from '@reeve/sdk'

/** The build that `npm test` has just made, else the sources. */
export const PROGRAM =
  process.env['REEVE_TEST_PROGRAM'] ?? join(import.meta.dirname, '../../reeve/src/main/reeve.ts')
const START_MS_MAX = 180_000

/** The real program with a node in it, as `npm start` runs it. */
export interface Program {
  readonly address: string
  readonly client: Client
  /** The bearer of the governance API that a program without access control prints. */
  readonly governanceToken: string
  /** Ends it as a fault of the machine does; what it runs goes on. */
  crash(): Promise<void>
  /** After a crash: the same data at the same address. */
  restart(): Promise<void>
  /** Ends it with everything that it runs. */
  stop(): Promise<void>
}

interface Started {
  readonly child: ChildProcess
  readonly address: string
  readonly output: () => string
}

export async function startProgram(flags: readonly string[] = []): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-web-'))
  const start = (port: string) =>
    spawnProgram(['--http-port', port, '--data-dir', folder, ...flags])
  let running = await start('0')
  const { address, output } = running
  return {
    address,
    client: createClient({ address }),
    governanceToken: /Bearer (\S+)/.exec(output())?.[1] ?? '',
    crash: () => end(running, 'SIGKILL'),
    restart: async () => {
      running = await start(new URL(address).port)
    },
    stop: async () => {
      await end(running, 'SIGTERM')
      endTasks(folder)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function end({ child }: Started, signal: NodeJS.Signals): Promise<void> {
  // A test that failed in between has not started it again.
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

/** Tasks outlive their program; each has the names of its directories in its environment. */
function endTasks(folder: string): void {
  const find = () => readdirSync('/proc').filter((name) => environmentOf(name).includes(folder))
  // Again for those that are on their way out, and for what they started meanwhile.
  for (let tasks = find(); tasks.length > 0; tasks = find())
    spawnSync('kill', ['-KILL', ...tasks], { stdio: 'ignore' })
}

/** Empty for what is no process, or none any more. */
export function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1')
  } catch {
    return ''
  }
}

async function spawnProgram(flags: readonly string[]): Promise<Started> {
  const child = spawn(process.execPath, [PROGRAM, 'agent', '--dev', ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const timer = setTimeout(() => reject(new Error(`it did not start: ${output}`)), START_MS_MAX)
  const collect = (chunk: Buffer) => {
    output += chunk.toString('utf8')
    const address = /API\s+(http:\/\/\S+)[^]*What to try next/.exec(output)?.[1]
    if (address !== undefined) resolve(address)
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${output}`)))
  const address = await promise.finally(() => clearTimeout(timer))
  return { child, address, output: () => output }
}
