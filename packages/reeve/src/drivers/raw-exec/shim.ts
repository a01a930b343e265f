import { constants } from 'node:fs'
import { chown, mkdir, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, isMissing, type HostUser } from '../../agent/index.ts'
import { parseStat, type ProcessId } from '../proc/processes.ts'

/**
 * The program that stands between the agent and a task: it outlives the agent, waits for the task
 * and writes down how it ended. POSIX shell, because every machine has one.
 *
 * $1 is the directory of its records, the rest is the command. What it writes there:
 *   shim    its own line of /proc/self/stat. Created exclusively, so it is also the claim: an agent
 *           that recovers creates the same file, and then a start that has not begun never does.
 *   task    the same line of the task's process, before it becomes the command.
 *   failed  exists when the command could not be executed.
 *   exit    the exit status, then a newline. One write: a line without its end is not there yet.
 *
 * Why it is written this way:
 * - The task runs in the foreground: a shell makes background processes ignore SIGINT.
 * - It catches signals, and so survives one sent to the whole group; caught signals (unlike ignored
 *   ones) are reset in the task.
 * - Its own standard error is closed to it, because shells comment on killed children there.
 * - `read` and `echo` are built in: at the end no process can be missing to write the record with.
 */
const SHIM_SCRIPT = `exec 3>&2 2>/dev/null
set -C
read -r _reeve_line </proc/self/stat && echo "$_reeve_line" >"$1/shim" || exit 97
set +C
_reeve_dir=$1 _reeve_begin=$2
shift 2
trap : HUP INT QUIT TERM USR1 USR2 ALRM
/bin/sh -c "$_reeve_begin" reeve-task "$_reeve_dir" "$@"
_reeve_code=$?
echo "$_reeve_code" >"$_reeve_dir/exit"
exit "$_reeve_code"`

/**
 * The process of the task until it executes the command. A separate shell, not a subshell of the
 * shim: some shells exit subshells silently if exec fails. This one either continues or runs the
 * trap.
 */
const TASK_SCRIPT = `_reeve_dir=$1
shift
trap 'echo >"$_reeve_dir/failed"' EXIT
read -r _reeve_line </proc/self/stat && echo "$_reeve_line" >"$_reeve_dir/task" || exit 98
shopt -s execfail
unset PWD OLDPWD SHLVL
exec "$@" 2>&3 3>&-
exit 126`

/** Reports whether a command line is that of one of the two shells above. */
export function isShimCommandLine(cmdline: Buffer): boolean {
  return cmdline.includes(TASK_SCRIPT_ARGUMENT)
}

const TASK_SCRIPT_ARGUMENT = Buffer.from(`\0${TASK_SCRIPT}\0`)

export const SHELL = '/bin/sh'

interface ShimInput {
  readonly recordsDir: string
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

interface ShimCall {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/**
 * Shells drop variables with invalid names and set some of their own, so these are passed with
 * `env` after the shell is gone.
 */
export function buildShimCall({ recordsDir, file, args, env }: ShimInput): ShimCall {
  const unsupportedByShell = Object.entries(env).filter(([name]) => !isPreservedByShell(name))
  const envCommand =
    unsupportedByShell.length === 0
      ? []
      : ['/usr/bin/env', ...unsupportedByShell.map(([name, value]) => `${name}=${value}`)]
  const supportedByShell = Object.entries(env).filter(([name]) => isPreservedByShell(name))
  return {
    args: ['-c', SHIM_SCRIPT, 'reeve-task', recordsDir, TASK_SCRIPT, ...envCommand, file, ...args],
    env: Object.fromEntries(supportedByShell),
  }
}

const SHELL_VARIABLES: ReadonlySet<string> = new Set([
  '_',
  'IFS',
  'LINENO',
  'OLDPWD',
  'OPTIND',
  'PPID',
  'PS1',
  'PS2',
  'PS4',
  'PWD',
  'SHLVL',
])

function isPreservedByShell(name: string): boolean {
  return (
    /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) &&
    !SHELL_VARIABLES.has(name) &&
    !name.startsWith('_reeve_')
  )
}

/** Maximum length of a record. */
const RECORD_BYTES_MAX = 4096

/** Written instead of the shim's line if the start was cancelled before the shim began. */
const CANCELLED_LINE = 'withdrawn'

type ShimClaim =
  /** The start had not begun and never will. */
  | { readonly kind: 'withdrawn' }
  | { readonly kind: 'begun'; readonly shim: ProcessId }
  /** A shim has claimed the start and has not written its line yet. */
  | { readonly kind: 'unsaid' }

export interface ShellExitRecord {
  readonly status: number
  /** The command could not be executed at all. */
  readonly hasExecFailed: boolean
  readonly atMs: number
}

/** The records of a shim (see shim.ts). The task may own the directory, so they are not trusted. */
export class ShimRecords {
  readonly dir: string

  constructor(dir: string) {
    this.dir = dir
  }

  async create(owner: HostUser | undefined): Promise<void> {
    await mkdir(this.dir, { mode: 0o700 })
    if (owner !== undefined) await chown(this.dir, owner.uid, owner.gid)
  }

  /** Cancels a start that has not begun; atomic with respect to the claim of the shim. */
  async cancelStart(): Promise<ShimClaim> {
    const { O_WRONLY, O_CREAT, O_EXCL } = constants
    try {
      const file = await open(join(this.dir, 'shim'), O_WRONLY | O_CREAT | O_EXCL, 0o600)
      await file.writeFile(`${CANCELLED_LINE}\n`)
      await file.close()
      return { kind: 'withdrawn' }
    } catch (thrown) {
      // The directory was not created, so nothing was started.
      if (isMissing(thrown)) return { kind: 'withdrawn' }
      if (errorCode(thrown) !== 'EEXIST') throw thrown
      return this.#readClaim()
    }
  }

  async #readClaim(): Promise<ShimClaim> {
    const line = await this.#readLine('shim')
    if (line === undefined) return { kind: 'unsaid' }
    if (line === CANCELLED_LINE) return { kind: 'withdrawn' }
    const shim = parseStat(line)
    return shim === undefined ? { kind: 'unsaid' } : { kind: 'begun', shim }
  }

  /** Process of the shim, once recorded. */
  shimProcess(): Promise<ProcessId | undefined> {
    return this.#readProcessId('shim')
  }

  /** Process of the task, once it exists. */
  taskProcess(): Promise<ProcessId | undefined> {
    return this.#readProcessId('task')
  }

  async exitRecord(): Promise<ShellExitRecord | undefined> {
    const line = await this.#readLine('exit')
    if (line === undefined || !/^\d{1,3}$/.test(line)) return undefined
    const { mtimeMs } = await stat(join(this.dir, 'exit'))
    return {
      status: Number(line),
      hasExecFailed: await this.hasExecFailed(),
      atMs: Math.floor(mtimeMs),
    }
  }

  async hasExecFailed(): Promise<boolean> {
    return stat(join(this.dir, 'failed')).then(
      () => true,
      (thrown: unknown) => {
        if (isMissing(thrown)) return false
        throw thrown
      },
    )
  }

  async remove(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true })
  }

  async #readProcessId(name: string): Promise<ProcessId | undefined> {
    const line = await this.#readLine(name)
    return line === undefined ? undefined : parseStat(line)
  }

  /** Returns the line of a record; undefined if it is missing or incomplete. */
  async #readLine(name: string): Promise<string | undefined> {
    const text = await readSmallFile(join(this.dir, name))
    return text?.endsWith('\n') === true ? text.slice(0, -1) : undefined
  }
}

async function readSmallFile(path: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  try {
    // Does not follow a link or block on a FIFO in its place.
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      if (!(await file.stat()).isFile()) return undefined
      const { bytesRead, buffer } = await file.read(Buffer.alloc(RECORD_BYTES_MAX), 0)
      return buffer.toString('latin1', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch (thrown) {
    if (isMissing(thrown) || errorCode(thrown) === 'ELOOP') return undefined
    throw thrown
  }
}
