import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Owner } from '../store/beneath.ts'
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

const messageSchema = Compile(FetcherMessage)

interface FetcherOptions {
  /** The staging directory, which belongs to the user. */
  readonly directory: string
  /** Undefined: the agent's own. */
  readonly user: Owner | undefined
  /** Receives the bytes that the fetch takes on the disk. */
  readonly used: (bytes: number) => void
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
  const child = start(options)
  const stop = (): void => endFetcher(child)
  signal.addEventListener('abort', stop, { once: true })
  let result: FetcherMessage | undefined
  let failure: Error | undefined
  const complaint = tailOf(child.stderr)
  readLines(child.stdout, (line) => {
    const message = parseMessage(line)
    if (message?.kind !== 'used') {
      if (message === undefined || result !== undefined) endFetcher(child)
      result = message
      return
    }
    try {
      options.used(message.bytes)
    } catch (thrown) {
      failure ??= thrown instanceof Error ? thrown : new Error(errorMessage(thrown))
      endFetcher(child)
    }
  })
  child.stdin.write(`${JSON.stringify(job)}\n`)
  try {
    const ended = await endOf(child)
    signal.throwIfAborted()
    if (failure !== undefined) throw failure
    if (result?.kind === 'staged') return result.isFile
    throw new Fault('task-artifact', failureText(result, ended, complaint()))
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

type Fetcher = ChildProcessByStdio<Writable, Readable, Readable>

function start({ directory, user }: FetcherOptions): Fetcher {
  const program = fileURLToPath(new URL('./fetcher.ts', import.meta.url))
  const heap = `--max-old-space-size=${AGENT_LIMITS.artifactFetcherHeapMB}`
  const ids = user === undefined ? [] : [String(user.uid), String(user.gid)]
  const child = spawn(process.execPath, [heap, program, ...ids], {
    cwd: directory,
    env: fetcherEnvironment(directory),
    // A group of its own, which ends as a whole.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // A process that ends early says why by its end.
  child.stdin.on('error', () => undefined)
  return child
}

/** Certificates are public; nothing else of the agent's environment is passed on. */
const PASSED_ON = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'] as const

function fetcherEnvironment(directory: string): Record<string, string> {
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...MINIMAL_ENV, HOME: join(directory, 'home'), ...Object.fromEntries(passed) }
}

/** The end of its input tells the process to stop; one that does not is killed. */
function endFetcher(child: Fetcher): void {
  child.stdin.end()
  const timer = setTimeout(() => killGroup(child), AGENT_LIMITS.artifactStopMsMax)
  child.once('exit', () => clearTimeout(timer))
}

function killGroup({ pid }: Fetcher): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/** What ended it, for the case that it did not say so itself. */
async function endOf(child: Fetcher): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  child.once('error', (thrown) => resolve(errorMessage(thrown)))
  child.once('close', (code, signal) => resolve(`status ${String(code ?? signal)}`))
  // Whoever escaped from the group could hold the pipes open.
  child.once('exit', () => {
    const timer = setTimeout(() => {
      child.stdout.destroy()
      child.stderr.destroy()
    }, AGENT_LIMITS.artifactStopMsMax)
    child.once('close', () => clearTimeout(timer))
  })
  return promise
}

function failureText(result: FetcherMessage | undefined, ended: string, complaint: string): string {
  if (result?.kind === 'failed') return result.message
  const why = complaint.split('\n').find((line) => /error/i.test(line)) ?? ''
  return `the process that fetches it ended with ${ended}${why === '' ? '' : `: ${why}`}`
}

function parseMessage(line: string): FetcherMessage | undefined {
  try {
    const message: unknown = JSON.parse(line)
    return messageSchema.Check(message) ? message : undefined
  } catch {
    return undefined
  }
}

/** A line that never ends is given up as a whole: the receiver gets it as it is by then. */
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

function tailOf(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (piece: string) => {
    text = `${text}${piece}`.slice(-TAIL_CHARS)
  })
  return () => text
}

const TAIL_CHARS = 2_048
