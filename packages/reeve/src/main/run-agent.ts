import { EXIT_CODES } from '../cli/index.ts'
import { errorMessage, type Fault } from '@reeve/kit/fault.ts'
import type { AgentConfig } from './config/agent-config.ts'
import type { ProgramLog } from './log.ts'
import type { RunningProgram } from './program.ts'
import { explainStartFailure } from './start-failure.ts'

export interface AgentRun {
  readonly config: AgentConfig
  readonly log: ProgramLog
  /** The signal ends a start that waits for something, with a rejection. */
  start(signal: AbortSignal): Promise<RunningProgram>
  /** Where signals arrive: the process. */
  readonly signals: SignalSource
  /** Called when the program answers. */
  announce(program: RunningProgram): void
  /** Ends the process now. */
  exit(code: number): void
  wait(ms: number): Promise<unknown>
}

interface SignalSource {
  on(signal: StopSignal | typeof RELOAD, listener: () => void): unknown
  off(signal: StopSignal | typeof RELOAD, listener: () => void): unknown
}

/** What a shell reports of a process that a signal ended: 128 and the signal's number. */
const STOP_SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const
type StopSignal = keyof typeof STOP_SIGNALS
const RELOAD = 'SIGHUP'

/** A program whose storage failed may wait for it for ever while it stops. */
const STOP_AFTER_FAILURE_MS_MAX = 10_000

/** Starts the program and stays until it is told to stop, or fails. Gives the exit code. */
export async function runAgent(run: AgentRun): Promise<number> {
  const stopping = listen(run)
  try {
    const program = await start(run, stopping)
    if (program === undefined) return stopping.isAsked() ? EXIT_CODES.ok : EXIT_CODES.failed
    if (!stopping.isAsked()) run.announce(program)
    const letGo = reloadOnSignal(run, program)
    const fault = await Promise.race([stopping.asked, program.failed]).finally(letGo)
    return fault === undefined ? await stop(run, program) : await giveUp(run, program, fault)
  } finally {
    stopping.end()
  }
}

const READ_AGAIN = 'the certificates were read again'
const NOTHING_TO_READ = 'nothing is read again: this agent has no certificates (tls)'

/**
 * Certificates are read again at SIGHUP, as habit has it. An agent that is tried out in a terminal
 * still ends with that terminal.
 */
function reloadOnSignal({ config, log, signals }: AgentRun, program: RunningProgram): () => void {
  if (config.dev) return () => undefined
  const said = config.tls.http || config.tls.rpc ? READ_AGAIN : NOTHING_TO_READ
  const reload = (): void => {
    program.reload().then(
      () => log.info({}, said),
      (thrown: unknown) =>
        log.error({ err: errorMessage(thrown) }, 'the certificates stay as they were'),
    )
  }
  signals.on(RELOAD, reload)
  return () => void signals.off(RELOAD, reload)
}

interface Stopping {
  /** Settles with the first signal. */
  readonly asked: Promise<undefined>
  isAsked(): boolean
  /** Signals do again what they do without us. */
  end(): void
}

/** Two signals closer than this are one. */
const ECHO_MS = 300

/**
 * The first signal asks to stop, the second ends the process. One signal may arrive twice: a
 * service manager sends it to every process of a tree, and a parent passes on the one that it got.
 */
function listen(run: AgentRun): Stopping {
  const { log, signals } = run
  const asked = Promise.withResolvers<undefined>()
  let isAsked = false
  let isEchoOver = false
  const afterEcho = async (): Promise<void> => {
    await run.wait(ECHO_MS)
    isEchoOver = true
  }
  const hear = (signal: StopSignal) => (): void => {
    if (isEchoOver) return run.exit(STOP_SIGNALS[signal])
    if (isAsked) return
    isAsked = true
    void afterEcho()
    log.info({ signal }, 'stopping; a second signal ends it at once')
    asked.resolve(undefined)
  }
  const listeners = { SIGINT: hear('SIGINT'), SIGTERM: hear('SIGTERM') }
  const names = ['SIGINT', 'SIGTERM'] as const
  for (const signal of names) signals.on(signal, listeners[signal])
  return {
    asked: asked.promise,
    isAsked: () => isAsked,
    end: () => {
      for (const signal of names) signals.off(signal, listeners[signal])
    },
  }
}

async function start(run: AgentRun, stopping: Stopping): Promise<RunningProgram | undefined> {
  const { log } = run
  const starting = new AbortController()
  void stopping.asked.then(() => starting.abort())
  try {
    return await run.start(starting.signal)
  } catch (thrown) {
    if (stopping.isAsked()) {
      log.info({}, 'stopped before it had started')
      return undefined
    }
    const sentence = explainStartFailure(thrown, run.config)
    if (sentence !== undefined) log.error({}, sentence)
    else log.error({ err: thrown }, 'Reeve could not start; this is a mistake in it')
    return undefined
  }
}

async function stop({ log }: AgentRun, program: RunningProgram): Promise<number> {
  try {
    await program.stop()
    log.info({}, 'stopped')
    return EXIT_CODES.ok
  } catch (thrown) {
    log.error({ err: thrown }, 'stopped, but not cleanly; nothing that was acknowledged is lost')
    return EXIT_CODES.failed
  }
}

async function giveUp(run: AgentRun, program: RunningProgram, fault: Fault): Promise<number> {
  const { log } = run
  log.error({ kind: fault.kind }, fault.message)
  const stopped = program.stop().catch((thrown: unknown) => {
    log.warn({ err: thrown }, 'stopped, but not cleanly')
  })
  await Promise.race([stopped, run.wait(STOP_AFTER_FAILURE_MS_MAX)])
  return EXIT_CODES.failed
}
