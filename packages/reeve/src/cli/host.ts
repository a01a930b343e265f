import { aliasesOf, translateEnvironment, type JobFileAliases } from '../compat/index.ts'
import type { TextOutput } from './command-line.ts'
import { EXIT_CODES, systemErrorReason } from './errors.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Standard input. */
export interface InputStream extends AsyncIterable<string | Uint8Array> {
  readonly isTTY?: boolean
  setRawMode?(isRaw: boolean): unknown
  /** Ends pending reads. */
  destroy?(): unknown
}

/**
 * The process environment of a command. Commands use nothing else, so that tests can run many in
 * one process.
 */
export interface CliHost extends TextOutput {
  readonly environment: Environment
  /** Alternative names in job files; none by default. */
  readonly jobFileAliases?: JobFileAliases
  /** Base of relative paths. */
  readonly directory: string
  readonly input: InputStream
  /** Standard output is a terminal: colors and redrawing are allowed. */
  readonly isTerminal: boolean
  /** Standard error is a terminal; defaults to `isTerminal`. */
  readonly isErrTerminal?: boolean
  columns(): number
  rows(): number
  nowMs(): number
  /** Writes raw bytes to standard output; resolves when the buffer has space. */
  outBytes(bytes: Uint8Array): Promise<void>
  errBytes(bytes: Uint8Array): Promise<void>
  /** Calls the listener at the first Ctrl-C. Returns a function that removes it. */
  onInterrupt(listener: () => void): () => void
  /** Calls the listener when the terminal is resized. Returns a function that removes it. */
  onResize(listener: () => void): () => void
  /** Switches the terminal to raw mode. Returns a function that restores it. */
  enterRawMode?(): () => void
  /**
   * Calls the listener when the process exits for any reason. Returns a function that removes it.
   */
  onExit?(listener: () => void): () => void
}

/** The agent reads the same setting, from its files too (docs/reference/compatibility.md). */
function isCompatibilityEnabled(): boolean {
  return !['false', '0'].includes(process.env['REEVE_COMPATIBILITY'] ?? '')
}

const COLUMNS_DEFAULT = 80
const ROWS_DEFAULT = 24

/** Creates the host of the current process. */
export function processHost(): CliHost {
  const { stdout, stderr } = process
  stdout.on('error', handleOutputError)
  const aliases = aliasesOf(isCompatibilityEnabled())
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    environment: translateEnvironment(aliases.commandLine, process.env),
    jobFileAliases: aliases.jobFile,
    directory: process.cwd(),
    // Accessed lazily: opening standard input keeps the process alive.
    get input() {
      return process.stdin
    },
    isTerminal: stdout.isTTY,
    isErrTerminal: stderr.isTTY,
    columns: () => stdout.columns || COLUMNS_DEFAULT,
    rows: () => stdout.rows || ROWS_DEFAULT,
    nowMs: () => Date.now(),
    outBytes: (bytes) => writeBytes(stdout, bytes),
    errBytes: (bytes) => writeBytes(stderr, bytes),
    onInterrupt(listener) {
      // Registered once: the second Ctrl-C kills the process.
      process.once('SIGINT', listener)
      return () => void process.off('SIGINT', listener)
    },
    onResize(listener) {
      stdout.on('resize', listener)
      return () => void stdout.off('resize', listener)
    },
    enterRawMode,
    onExit: onProcessExit,
  }
}

/** Signals that terminate the process, with the exit codes that shells use. */
const SIGNAL_EXIT_CODES = { SIGTERM: 143, SIGHUP: 129 } as const

function onProcessExit(listener: () => void): () => void {
  const removeHandlers = Object.entries(SIGNAL_EXIT_CODES).map(([signal, code]) => {
    const end = (): never => process.exit(code)
    process.on(signal, end)
    return () => void process.off(signal, end)
  })
  process.on('exit', listener)
  // Runs before the runtime prints the error.
  process.on('uncaughtExceptionMonitor', listener)
  return () => {
    for (const removeHandler of removeHandlers) removeHandler()
    process.off('exit', listener)
    process.off('uncaughtExceptionMonitor', listener)
  }
}

function enterRawMode(): () => void {
  const { stdin } = process
  stdin.setRawMode(true)
  // Node.js leaves output processing enabled, which adds a carriage return to each line feed.
  // Programs that draw a remote terminal send their own.
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] })
  return () => void stdin.setRawMode(false)
}

/**
 * EPIPE (as in `reeve … | head -1`) exits silently; other write errors, such as a full disk, are
 * reported.
 */
export function handleOutputError(thrown: NodeJS.ErrnoException): void {
  if (thrown.code === 'EPIPE') process.exit(EXIT_CODES.unread)
  process.stderr.write(`reeve: the output cannot be written: ${systemErrorReason(thrown)}.\n`)
  process.exit(EXIT_CODES.failed)
}

async function writeBytes(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => {
    stream.write(bytes, () => resolve())
  })
}
