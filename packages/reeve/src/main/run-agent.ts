import { EXIT_CODES } from '../cli/index.ts'
import { errorMessage, Fault } from '@reeve/kit/fault.ts'
import type { AgentConfig } from './config/agent-config.ts'
import type { Logger } from './log.ts'
import type { RunningAgent } from './start-agent.ts'

export interface AgentRunOptions {
  readonly config: AgentConfig
  readonly log: Logger
  /** Rejects if the signal aborts while the start is waiting. */
  start(signal: AbortSignal): Promise<RunningAgent>
  /** The source of signals: the process. */
  readonly signals: SignalSource
  /** Called when the program answers requests. */
  announce(program: RunningAgent): void
  /** Exits the process immediately. */
  exit(code: number): void
  wait(ms: number): Promise<unknown>
}

interface SignalSource {
  on(signal: StopSignal | typeof RELOAD, listener: () => void): unknown
  off(signal: StopSignal | typeof RELOAD, listener: () => void): unknown
}

/** The exit code after a signal, as shells report it: 128 plus the signal number. */
const STOP_SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const
type StopSignal = keyof typeof STOP_SIGNALS
const RELOAD = 'SIGHUP'

/** Time limit for stopping after a storage failure, which could otherwise block forever. */
const STOP_AFTER_FAULT_MS_MAX = 10_000

/** Starts the program and waits until it is stopped or fails. Returns the exit code. */
export async function runAgent(run: AgentRunOptions): Promise<number> {
  const stopping = listenForStop(run)
  try {
    const program = await startAgentOrLog(run, stopping)
    if (program === undefined) return stopping.isStopRequested() ? EXIT_CODES.ok : EXIT_CODES.failed
    if (!stopping.isStopRequested()) run.announce(program)
    const stopReloading = reloadOnSignal(run, program)
    const fault = await Promise.race([stopping.stopRequested, program.failed]).finally(
      stopReloading,
    )
    return fault === undefined
      ? await stopAgent(run, program)
      : await stopAfterFault(run, program, fault)
  } finally {
    stopping.end()
  }
}

const CERTIFICATES_RELOADED = 'the certificates were read again'
const NOTHING_TO_RELOAD = 'nothing is read again: this agent has no certificates (tls)'

/**
 * Reloads the certificates on SIGHUP. An interactive dev agent still ends when its terminal closes.
 */
function reloadOnSignal(
  { config, log, signals }: AgentRunOptions,
  program: RunningAgent,
): () => void {
  if (config.dev) return () => undefined
  const message = config.tls.http || config.tls.rpc ? CERTIFICATES_RELOADED : NOTHING_TO_RELOAD
  const reload = (): void => {
    program.reload().then(
      () => log.info({}, message),
      (thrown: unknown) =>
        log.error({ err: errorMessage(thrown) }, 'the certificates stay as they were'),
    )
  }
  signals.on(RELOAD, reload)
  return () => void signals.off(RELOAD, reload)
}

interface StopListener {
  /** Resolves at the first signal. */
  readonly stopRequested: Promise<undefined>
  isStopRequested(): boolean
  /** Removes the signal handlers. */
  end(): void
}

/** A repeated signal within this time is ignored. */
const DUPLICATE_SIGNAL_MS = 300

/**
 * Handles signals: the first stops the program, the second exits immediately. One signal may arrive
 * twice, because service managers signal every process of a tree and parents forward theirs.
 */
function listenForStop(run: AgentRunOptions): StopListener {
  const { log, signals } = run
  const asked = Promise.withResolvers<undefined>()
  let isAsked = false
  let isEchoOver = false
  const afterEcho = async (): Promise<void> => {
    await run.wait(DUPLICATE_SIGNAL_MS)
    isEchoOver = true
  }
  const onSignal = (signal: StopSignal) => (): void => {
    if (isEchoOver) return run.exit(STOP_SIGNALS[signal])
    if (isAsked) return
    isAsked = true
    void afterEcho()
    log.info({ signal }, 'stopping; a second signal ends it at once')
    asked.resolve(undefined)
  }
  const listeners = { SIGINT: onSignal('SIGINT'), SIGTERM: onSignal('SIGTERM') }
  const names = ['SIGINT', 'SIGTERM'] as const
  for (const signal of names) signals.on(signal, listeners[signal])
  return {
    stopRequested: asked.promise,
    isStopRequested: () => isAsked,
    end: () => {
      for (const signal of names) signals.off(signal, listeners[signal])
    },
  }
}

async function startAgentOrLog(
  run: AgentRunOptions,
  stopping: StopListener,
): Promise<RunningAgent | undefined> {
  const { log } = run
  const starting = new AbortController()
  void stopping.stopRequested.then(() => starting.abort())
  try {
    return await run.start(starting.signal)
  } catch (thrown) {
    if (stopping.isStopRequested()) {
      log.info({}, 'stopped before it had started')
      return undefined
    }
    const sentence = explainStartFailure(thrown, run.config)
    if (sentence !== undefined) log.error({}, sentence)
    else log.error({ err: thrown }, 'Reeve could not start; this is a mistake in it')
    return undefined
  }
}

async function stopAgent({ log }: AgentRunOptions, program: RunningAgent): Promise<number> {
  try {
    await program.stop()
    log.info({}, 'stopped')
    return EXIT_CODES.ok
  } catch (thrown) {
    log.error({ err: thrown }, 'stopped, but not cleanly; nothing that was acknowledged is lost')
    return EXIT_CODES.failed
  }
}

async function stopAfterFault(
  run: AgentRunOptions,
  program: RunningAgent,
  fault: Fault,
): Promise<number> {
  const { log } = run
  log.error({ kind: fault.kind }, fault.message)
  const stopped = program.stop().catch((thrown: unknown) => {
    log.warn({ err: thrown }, 'stopped, but not cleanly')
  })
  await Promise.race([stopped, run.wait(STOP_AFTER_FAULT_MS_MAX)])
  return EXIT_CODES.failed
}

/**
 * Explains why the program did not start and what to do; undefined for an unknown error, which is
 * treated as a bug and logged with its stack.
 */
export function explainStartFailure(thrown: unknown, config: AgentConfig): string | undefined {
  // Checked before the causes, because a held lock may surface in any system call.
  if (thrown instanceof Fault && LOCKED_KINDS.includes(thrown.kind)) return thrown.message
  const { code, isListen, path } = findSystemError(thrown, config.bind)
  if (isListen && code !== undefined && Object.hasOwn(LISTEN_ERRORS, code))
    return LISTEN_ERRORS[code]?.(config)
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  const full = `Free space on the disk of ${config.dataDirectory}, then start again.`
  if (thrown instanceof Fault)
    return isFull && thrown.kind === 'agent-state' ? `${thrown.message}. ${full}` : thrown.message
  if (code === undefined) return undefined
  const sentence = `Reeve could not start: ${errorMessage(thrown)}.`
  if (isFull) return `${sentence} ${full}`
  if (code === 'EROFS') return `${sentence} ${READ_ONLY}`
  const isRefused = ['EACCES', 'EPERM'].includes(code) && path !== undefined
  return isRefused
    ? `${sentence} Give the account that runs it the right to use ${path}, or choose another place.`
    : sentence
}

const READ_ONLY =
  'The file system is read-only, as after a disk error: look at the system log, repair and ' +
  'remount it.'

/** Fault kinds for a data directory, or the agent's part of it, that is used by another process. */
const LOCKED_KINDS: readonly string[] = ['agent-locked', 'storage-locked']

interface SystemError {
  readonly code: string | undefined
  readonly isListen: boolean
  readonly path: string | undefined
}

/** Maximum depth of nested causes; also protects against cycles. */
const CAUSES_MAX = 8

/** Returns the system error at the end of the chain of causes. */
function findSystemError(thrown: unknown, bind: string): SystemError {
  let error: unknown = thrown
  for (let depth = 0; depth < CAUSES_MAX && error instanceof Error; depth++) {
    const { code, syscall, path, cause }: NodeJS.ErrnoException = error
    if (typeof code === 'string' && typeof syscall === 'string') {
      // Lookups of other hosts, such as the database, also fail with this error.
      const isOwnName = syscall === 'getaddrinfo' && Reflect.get(error, 'hostname') === bind
      const isListen = ['listen', 'bind'].includes(syscall) || isOwnName
      return { code, isListen, path }
    }
    error = cause
  }
  return { code: undefined, isListen: false, path: undefined }
}

const LISTEN_ERRORS: Readonly<Record<string, (config: AgentConfig) => string>> = {
  EADDRINUSE: ({ bind, ports }) =>
    `Port ${ports.http} of ${bind} is in use, perhaps by another agent. Stop that one, or choose ` +
    'another port with --http-port.',
  EACCES: ({ ports }) =>
    `This account may not open port ${ports.http}. Choose one above 1023 with --http-port, or ` +
    'give it the right to open low ports.',
  EADDRNOTAVAIL: ({ bind }) =>
    `${bind} is not an address of this machine. Choose one that is with --bind.`,
  ENOTFOUND: ({ bind }) =>
    `The host name ${bind} leads to no address. Choose an address of this machine with --bind.`,
  EAI_AGAIN: ({ bind }) =>
    `The host name ${bind} could not be looked up. Choose an address of this machine with --bind.`,
}
