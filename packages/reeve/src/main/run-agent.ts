import { EXIT_CODES } from '../cli/index.ts'
import { errorMessage, type Fault } from '@reeve/kit/fault.ts'
import type { AgentConfig } from './config/agent-config.ts'
import type { Logger } from './log.ts'
import type { RunningAgent } from './program.ts'
import { explainStartFailure } from './start-failure.ts'

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
