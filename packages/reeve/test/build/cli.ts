import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import type { Client } from '@reeve/sdk'
import type { CliHost } from '../../src/cli/index.ts'
import { runCommandLine } from '../../src/main/commands.ts'
import { startProgram } from '../e2e/program-process.ts'
import { PROGRAM } from './program.ts'
import { temporaryDirectory } from './temporary-directory.ts'

/** How a command ended and what it wrote. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface CommandOptions {
  /** What is piped in. */
  readonly input?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Written to a terminal of this many columns; a pipe unless given. */
  readonly columns?: number
  /** In process only: Ctrl-C. */
  readonly signal?: AbortSignal
  /** In process only: told of everything that is written, as it is written. */
  readonly onWritten?: (text: string) => void
}

/** The command line of a person at a real server. */
export interface CommandLineBench {
  readonly address: string
  readonly client: Client
  /** Relative paths begin here; removed after the test. */
  readonly directory: string
  /** Writes a file there and gives its name. */
  file(name: string, text: string): Promise<string>
  /** Runs a command in this process: many cases cost little. */
  run(line: string | readonly string[], options?: CommandOptions): Promise<Ended>
  /** The same for one that must succeed and say nothing else: its answer. */
  ok(line: string | readonly string[], options?: CommandOptions): Promise<string>
  /** Runs the program as a process of its own: exit codes, pipes, start-up. */
  spawn(line: string | readonly string[], options?: CommandOptions): Promise<Ended>
  /** The same while it runs: standard output is the caller's. */
  start(line: string | readonly string[], options?: CommandOptions): StartedCommand
}

export interface StartedCommand {
  readonly stdout: Readable
  kill(signal: NodeJS.Signals): void
  /** What it wrote besides standard output, once it has ended. */
  readonly ended: Promise<Omit<Ended, 'out'>>
}

/** Starts `reeve agent --dev` with these flags, and gives a command line that talks to it. */
export async function aCommandLine(
  t: TestContext,
  flags: readonly string[] = [],
): Promise<CommandLineBench> {
  const directory = await temporaryDirectory(t)
  const { address, client } = await startProgram(t, join(directory, 'data'), flags)
  return commandLineAt({ address, client, directory })
}

/** A command line without a server of its own. */
export function commandLineAt(
  place: Pick<CommandLineBench, 'address' | 'client' | 'directory'>,
): CommandLineBench {
  const { address, directory } = place
  const base = { PATH: process.env['PATH'] ?? '', HOME: directory, REEVE_ADDR: address }
  const run: CommandLineBench['run'] = (line, options = {}) =>
    runInProcess(words(line), { directory, base, options })
  return {
    ...place,
    async file(name, text) {
      await writeFile(join(directory, name), text)
      return name
    },
    run,
    async ok(line, options) {
      const { code, out, err } = await run(line, options)
      assert.deepEqual({ code, err }, { code: 0, err: '' }, `${String(line)}: ${out}`)
      return out
    },
    async spawn(line, options = {}) {
      const { stdout, ended } = startChild(words(line), { directory, base, options })
      const [out, end] = await Promise.all([readText(stdout), ended])
      return { ...end, out }
    },
    start: (line, options = {}) => startChild(words(line), { directory, base, options }),
  }
}

interface Surroundings {
  readonly directory: string
  readonly base: Readonly<Record<string, string>>
  readonly options: CommandOptions
}

async function runInProcess(args: readonly string[], around: Surroundings): Promise<Ended> {
  const written = { out: '', err: '' }
  const code = await runCommandLine(args, testHost(around, written))
  return { code, ...written }
}

function testHost({ directory, base, options }: Surroundings, written: Writing): CliHost {
  const { input = '', environment = {}, columns, signal, onWritten = () => undefined } = options
  const write = (stream: 'out' | 'err') => (text: string) => {
    written[stream] += text
    onWritten(text)
  }
  const [out, err] = [write('out'), write('err')]
  return {
    out,
    err,
    environment: { ...base, ...environment },
    directory,
    input: toInput(input),
    isTerminal: columns !== undefined,
    columns: () => columns ?? 80,
    rows: () => 24,
    nowMs: () => Date.now(),
    outBytes: async (bytes) => out(Buffer.from(bytes).toString('utf8')),
    errBytes: async (bytes) => err(Buffer.from(bytes).toString('utf8')),
    onInterrupt(listener) {
      signal?.addEventListener('abort', listener)
      return () => signal?.removeEventListener('abort', listener)
    },
    onResize: () => () => undefined,
  }
}

interface Writing {
  out: string
  err: string
}

async function* toInput(text: string): AsyncGenerator<string> {
  yield text
}

function startChild(args: readonly string[], around: Surroundings): StartedCommand {
  const { directory, base, options } = around
  const env = { ...base, ...options.environment }
  const child = spawn(process.execPath, [PROGRAM, ...args], { cwd: directory, env, stdio: 'pipe' })
  child.stdin.end(options.input ?? '')
  const ended = Promise.all([readText(child.stderr), once(child, 'close')])
  return {
    stdout: child.stdout,
    kill: (signal) => void child.kill(signal),
    ended: ended.then(([err, [code]]) => ({ code, err })),
  }
}

/** `job status web` as arguments; a list is taken as it is. */
function words(line: string | readonly string[]): readonly string[] {
  return typeof line === 'string' ? line.split(' ') : line
}
