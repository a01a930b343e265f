import { aliasesOf, translatedEnvironment, type JobFileAliases } from '../compat/index.ts'
import type { Terminal } from './command-line.ts'
import { EXIT_CODES } from './exit-code.ts'
import { reasonOf } from './reason.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What is typed or piped in. */
export interface HostInput extends AsyncIterable<string | Uint8Array> {
  readonly isTTY?: boolean
  setRawMode?(isRaw: boolean): unknown
  /** Whoever waits for more is told that there is none. */
  destroy?(): unknown
}

/**
 * The process around a command. Commands see nothing else of it, so that tests run many of them in
 * one process.
 */
export interface CliHost extends Terminal {
  readonly environment: Environment
  /** Other names that job files may use; none unless given. */
  readonly jobFileAliases?: JobFileAliases
  /** Relative paths begin here. */
  readonly directory: string
  readonly input: HostInput
  /** A person looks at the output: it may be coloured and written over. */
  readonly isTerminal: boolean
  /** The same of what is written beside the answer; as `isTerminal` unless given. */
  readonly isErrTerminal?: boolean
  columns(): number
  rows(): number
  nowMs(): number
  /** Bytes of the answer as they are; resolves when there is room for more. */
  outBytes(bytes: Uint8Array): Promise<void>
  errBytes(bytes: Uint8Array): Promise<void>
  /** Calls the listener at the first Ctrl-C, until the returned function is called. */
  onInterrupt(listener: () => void): () => void
  /** Calls the listener when the window changes its size, likewise. */
  onResize(listener: () => void): () => void
  /** Lets every byte pass the terminal unchanged, both ways, until the function is called. */
  rawTerminal?(): () => void
  /** Calls the listener when the process is ended, however that comes; likewise. */
  onEnd?(listener: () => void): () => void
}

/** The agent reads the same setting, from its files too (docs/reference/compatibility.md). */
function isCompatible(): boolean {
  return !['false', '0'].includes(process.env['REEVE_COMPATIBILITY'] ?? '')
}

const COLUMNS_DEFAULT = 80
const ROWS_DEFAULT = 24

/** This process. */
export function processHost(): CliHost {
  const { stdout, stderr } = process
  stdout.on('error', endUnwritten)
  const aliases = aliasesOf(isCompatible())
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    environment: translatedEnvironment(aliases.commandLine, process.env),
    jobFileAliases: aliases.jobFile,
    directory: process.cwd(),
    // Opening standard input keeps a process alive; most commands never ask for it.
    get input() {
      return process.stdin
    },
    isTerminal: stdout.isTTY,
    isErrTerminal: stderr.isTTY,
    columns: () => stdout.columns || COLUMNS_DEFAULT,
    rows: () => stdout.rows || ROWS_DEFAULT,
    nowMs: () => Date.now(),
    outBytes: (bytes) => written(stdout, bytes),
    errBytes: (bytes) => written(stderr, bytes),
    onInterrupt(listener) {
      // Once: the second Ctrl-C ends the process whatever the command does with the first.
      process.once('SIGINT', listener)
      return () => void process.off('SIGINT', listener)
    },
    onResize(listener) {
      stdout.on('resize', listener)
      return () => void stdout.off('resize', listener)
    },
    rawTerminal,
    onEnd,
  }
}

/** Signals that end a process without a word, and what shells tell of them. */
const ENDING = { SIGTERM: 143, SIGHUP: 129 } as const

function onEnd(listener: () => void): () => void {
  const endings = Object.entries(ENDING).map(([signal, code]) => {
    const end = (): never => process.exit(code)
    process.on(signal, end)
    return () => void process.off(signal, end)
  })
  process.on('exit', listener)
  // Before the runtime writes what went wrong.
  process.on('uncaughtExceptionMonitor', listener)
  return () => {
    for (const forget of endings) forget()
    process.off('exit', listener)
    process.off('uncaughtExceptionMonitor', listener)
  }
}

function rawTerminal(): () => void {
  const { stdin } = process
  stdin.setRawMode(true)
  // The runtime leaves it to the terminal to return the carriage at each line feed. Programs that
  // draw the screen of another terminal have done that themselves, where they want it.
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] })
  return () => void stdin.setRawMode(false)
}

/** `reeve … | head -1`: whoever has read enough is no failure to be told of. A full disk is. */
export function endUnwritten(thrown: NodeJS.ErrnoException): void {
  if (thrown.code === 'EPIPE') process.exit(EXIT_CODES.unread)
  process.stderr.write(`reeve: the output cannot be written: ${reasonOf(thrown)}.\n`)
  process.exit(EXIT_CODES.failed)
}

async function written(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => {
    stream.write(bytes, () => resolve())
  })
}
