import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { errorMessage } from '@reeve/kit/fault.ts'

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const COMMAND_MS_MAX = 10_000
/** A listing of every chain of the packet filter is some ten kilobytes on a busy machine. */
const OUTPUT_CHARS_MAX = 1024 * 1024
const COMPLAINT_CHARS_MAX = 2_048

interface ProgramOptions {
  readonly input?: string
  /** Beside `PATH`, which is all that a program has of an environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly msMax?: number
}

interface ProgramEnd {
  /** Why it did not succeed; undefined when it did. */
  readonly failure: string | undefined
  readonly output: string
  /** What it wrote to its standard error. */
  readonly complaint: string
}

/** Runs a program to its end. One that takes too long is killed with everything it started. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { input = '', env = {}, msMax = COMMAND_MS_MAX }: ProgramOptions,
): Promise<ProgramEnd> {
  try {
    // A process group of its own, so that its children can be killed with it.
    const child = spawn(program, args, { env: { ...env, PATH }, stdio: 'pipe', detached: true })
    return await endOf(child, { input, msMax })
  } catch (thrown) {
    // The environment is too long or contains a null byte.
    return { failure: errorMessage(thrown), output: '', complaint: '' }
  }
}

async function endOf(
  child: ChildProcessWithoutNullStreams,
  { input, msMax }: Required<Pick<ProgramOptions, 'input' | 'msMax'>>,
): Promise<ProgramEnd> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const output = gather(child.stdout, OUTPUT_CHARS_MAX)
  const complaint = gather(child.stderr, COMPLAINT_CHARS_MAX)
  const timer = setTimeout(() => {
    if (child.pid !== undefined) killGroup(child.pid)
    // A process that left the group may still hold them open.
    child.stdout.destroy()
    child.stderr.destroy()
    resolve(`took longer than ${msMax / 1_000} s`)
  }, msMax)
  // A program that ends without reading says why by its end.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  child.on('error', (thrown) => resolve(errorMessage(thrown)))
  child.on('close', (code) => {
    const failure = code === null ? 'ended by a signal' : `exit code ${code}`
    resolve(code === 0 ? undefined : failure)
  })
  const failure = await promise
  clearTimeout(timer)
  return { failure, output: output(), complaint: complaint().trim() }
}

/** What the stream has brought, up to a bound. */
function gather(stream: NodeJS.ReadableStream, charsMax: number): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (piece: string) => {
    if (text.length < charsMax) text = `${text}${piece}`.slice(0, charsMax)
  })
  return () => text
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Everything in it has ended by itself.
  }
}
