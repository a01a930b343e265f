import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Owner } from '../store/safe-directory.ts'
import { MINIMAL_ENV } from './compression.ts'
import type { FetchJob } from './stage-artifact.ts'

/** A line from the fetcher process to the agent. The agent does not trust it. */
const FetcherMessage = Type.Union([
  // Bytes that the fetch takes on the disk so far.
  Type.Object({ kind: Type.Literal('used'), bytes: Type.Number({ minimum: 0 }) }),
  Type.Object({ kind: Type.Literal('staged'), isFile: Type.Boolean() }),
  Type.Object({ kind: Type.Literal('failed'), message: Type.String() }),
])
export type FetcherMessage = Static<typeof FetcherMessage>

const messageChecker = Compile(FetcherMessage)

interface FetcherOptions {
  /** The staging directory, which belongs to the user. */
  readonly stagingDir: string
  /** Undefined: the agent's own. */
  readonly user: Owner | undefined
  /** Receives the bytes that the fetch takes on the disk. */
  readonly onDiskUsage: (bytes: number) => void
  readonly signal: AbortSignal
}

/**
 * Fetches one artifact in a process of its own (`fetcher.ts`), and returns after the process and
 * all that it started are gone. True when a single file was fetched. Fault `task-artifact` with the
 * reason, or the reason of the signal.
 */
export async function runFetcher(job: FetchJob, options: FetcherOptions): Promise<boolean> {
  const { signal } = options
  signal.throwIfAborted()
  const child = startFetcher(options)
  const endProcess = (): void => requestFetcherStop(child)
  signal.addEventListener('abort', endProcess, { once: true })
  let result: FetcherMessage | undefined
  let failure: Error | undefined
  const stderrTail = collectTail(child.stderr)
  readLines(child.stdout, (line) => {
    const message = parseMessage(line)
    if (message?.kind !== 'used') {
      if (message === undefined || result !== undefined) requestFetcherStop(child)
      result = message
      return
    }
    try {
      options.onDiskUsage(message.bytes)
    } catch (thrown) {
      failure ??= thrown instanceof Error ? thrown : new Error(errorMessage(thrown))
      requestFetcherStop(child)
    }
  })
  child.stdin.write(`${JSON.stringify(job)}\n`)
  try {
    const exitDescription = await awaitFetcherExit(child)
    signal.throwIfAborted()
    if (failure !== undefined) throw failure
    if (result?.kind === 'staged') return result.isFile
    throw new Fault('task-artifact', failureMessage(result, exitDescription, stderrTail()))
  } finally {
    signal.removeEventListener('abort', endProcess)
  }
}

type Fetcher = ChildProcessByStdio<Writable, Readable, Readable>

function startFetcher({ stagingDir, user }: FetcherOptions): Fetcher {
  const program = fileURLToPath(new URL('./fetcher.ts', import.meta.url))
  const heapFlag = `--max-old-space-size=${AGENT_LIMITS.artifactFetcherHeapMB}`
  const ids = user === undefined ? [] : [String(user.uid), String(user.gid)]
  const child = spawn(process.execPath, [heapFlag, program, ...ids], {
    cwd: stagingDir,
    env: fetcherEnvironment(stagingDir),
    // A process group, which is killed as a whole.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // A process that exits early reports that by its exit code.
  child.stdin.on('error', () => undefined)
  return child
}

/** Certificates are public; nothing else of the agent's environment is passed on. */
const PASSED_ENVIRONMENT = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'] as const

function fetcherEnvironment(directory: string): Record<string, string> {
  const passed = PASSED_ENVIRONMENT.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...MINIMAL_ENV, HOME: join(directory, 'home'), ...Object.fromEntries(passed) }
}

/** Closing its input tells the process to stop; otherwise it is killed after a timeout. */
function requestFetcherStop(child: Fetcher): void {
  child.stdin.end()
  const timer = setTimeout(() => killFetcherGroup(child), AGENT_LIMITS.fetcherStopTimeoutMs)
  child.once('exit', () => clearTimeout(timer))
}

function killFetcherGroup({ pid }: Fetcher): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has exited by itself.
  }
}

/** Exit description, for a process that sent no result. */
async function awaitFetcherExit(child: Fetcher): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  child.once('error', (thrown) => resolve(errorMessage(thrown)))
  child.once('close', (code, signal) => resolve(`status ${String(code ?? signal)}`))
  // A process that escaped from the group may keep the pipes open.
  child.once('exit', () => {
    const timer = setTimeout(() => {
      child.stdout.destroy()
      child.stderr.destroy()
    }, AGENT_LIMITS.fetcherStopTimeoutMs)
    child.once('close', () => clearTimeout(timer))
  })
  return promise
}

function failureMessage(
  result: FetcherMessage | undefined,
  exitDescription: string,
  stderrTail: string,
): string {
  if (result?.kind === 'failed') return result.message
  const errorLine = stderrTail.split('\n').find((line) => /error/i.test(line)) ?? ''
  return `the process that fetches it ended with ${exitDescription}${errorLine === '' ? '' : `: ${errorLine}`}`
}

function parseMessage(line: string): FetcherMessage | undefined {
  try {
    const message: unknown = JSON.parse(line)
    return messageChecker.Check(message) ? message : undefined
  } catch {
    return undefined
  }
}

/** Splits a stream into lines. A line over the limit is passed on incomplete. */
function readLines(stream: Readable, receive: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (piece: string) => {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LINE_CHARS_MAX) {
      lines.push(rest)
      rest = ''
    }
    for (const line of lines) receive(line)
  })
}

const LINE_CHARS_MAX = 64 * 1024

function collectTail(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (piece: string) => {
    text = `${text}${piece}`.slice(-TAIL_CHARS)
  })
  return () => text
}

const TAIL_CHARS = 2_048
