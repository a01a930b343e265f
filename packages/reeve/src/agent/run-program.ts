import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { errorMessage, Fault } from '@reeve/kit/fault.ts'

const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const DEFAULT_TIMEOUT_MS = 10_000
/** Listing all nftables chains takes about ten kilobytes on a busy machine. */
const STDOUT_CHARS_MAX = 1024 * 1024
const STDERR_CHARS_MAX = 2_048

interface ProgramOptions {
  readonly input?: string
  /** Added to `PATH`, which is otherwise the whole environment of the program. */
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

interface ProgramResult {
  /** Why the program failed; undefined on success. */
  readonly failure: string | undefined
  readonly stdout: string
  /** Content of standard error. */
  readonly stderr: string
}

/** Runs a program. After the timeout it is killed with its process group. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { input = '', env = {}, timeoutMs = DEFAULT_TIMEOUT_MS }: ProgramOptions,
): Promise<ProgramResult> {
  try {
    // A process group of its own, so that its children can be killed with it.
    const child = spawn(program, args, {
      env: { ...env, PATH: PROGRAM_PATH },
      stdio: 'pipe',
      detached: true,
    })
    return await awaitExit(child, { input, timeoutMs })
  } catch (thrown) {
    // The environment is too long or contains a NUL byte.
    return { failure: errorMessage(thrown), stdout: '', stderr: '' }
  }
}

async function awaitExit(
  child: ChildProcessWithoutNullStreams,
  { input, timeoutMs }: Required<Pick<ProgramOptions, 'input' | 'timeoutMs'>>,
): Promise<ProgramResult> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const stdout = collectText(child.stdout, STDOUT_CHARS_MAX)
  const stderr = collectText(child.stderr, STDERR_CHARS_MAX)
  const timer = setTimeout(() => {
    if (child.pid !== undefined) killProcessGroup(child.pid)
    // A process that left the group may keep the pipes open.
    child.stdout.destroy()
    child.stderr.destroy()
    resolve(`took longer than ${timeoutMs / 1_000} s`)
  }, timeoutMs)
  // A program that exits without reading its input reports that by its exit code.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  child.on('error', (thrown) => resolve(errorMessage(thrown)))
  child.on('close', (code) => {
    const failure = code === null ? 'ended by a signal' : `exit code ${code}`
    resolve(code === 0 ? undefined : failure)
  })
  const failure = await promise
  clearTimeout(timer)
  return { failure, stdout: stdout(), stderr: stderr().trim() }
}

/** Collects the text of a stream up to a limit. */
function collectText(stream: NodeJS.ReadableStream, charsMax: number): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    if (text.length < charsMax) text = `${text}${chunk}`.slice(0, charsMax)
  })
  return () => text
}

function killProcessGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All processes of the group have exited.
  }
}

/** Runs a program and returns its output; Fault `network` with its error output. */
export type RunNetworkCommand = (
  program: string,
  args: readonly string[],
  input?: string,
) => Promise<string>

export const runNetworkCommand: RunNetworkCommand = async (program, args, input = '') => {
  const { failure, stdout, stderr } = await runProgram(program, args, { input })
  if (failure !== undefined) throw new Fault('network', `${program}: ${stderr || failure}`)
  return stdout
}
