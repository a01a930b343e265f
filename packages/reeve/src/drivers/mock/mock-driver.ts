import { constants } from 'node:os'
import {
  pause,
  type DriverHealth,
  type Recovery,
  type RunningTask,
  type StopRequest,
  type TaskDriver,
  type TaskExit,
  type TaskHandle,
  type TaskLaunch,
} from '../../agent/index.ts'
import type { Clock } from '../../kit/clock.ts'
import { parseDurationMs } from '../../kit/duration.ts'
import { Fault } from '../../kit/fault.ts'

/** What a mock task does, from its `Config`. */
interface MockConfig {
  /** `run_for`: undefined runs until it is stopped. */
  readonly runForMs: number | undefined
  /** `exit_code`, `exit_signal`: how it ends by itself. */
  readonly exitCode: number
  readonly exitSignal: number
  /**
   * `start_error`: the start fails with this text; `start_error_recoverable`: another try may help.
   */
  readonly startError: string
  readonly isStartErrorRecoverable: boolean
  /** `start_block_for`: how long the start takes. */
  readonly startBlockMs: number
  /** `kill_after`: how long it takes to end after the kill signal; undefined at once. */
  readonly killAfterMs: number
  /** `signal_error`: signals are refused with this text. */
  readonly signalError: string
}

/**
 * Pretends to run tasks, on the clock it is given: for tests and simulated nodes. Its tasks belong
 * to the driver object, so an agent that is thrown away and made anew with the same driver finds
 * them again.
 */
export class MockDriver implements TaskDriver {
  readonly name: string = 'mock'
  readonly #clock: Clock
  readonly #tasks = new Map<string, MockTask>()
  readonly #lost = new Set<string>()
  #health: DriverHealth = {
    detected: true,
    healthy: true,
    description: 'Healthy',
    attributes: { 'driver.mock': '1' },
  }

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock
  }

  /** The tasks that run now, in the order of their starts. */
  get running(): readonly MockTask[] {
    return [...this.#tasks.values()].filter((task) => !task.hasExited)
  }

  /** What the next fingerprint will say. */
  setHealth(health: DriverHealth): void {
    this.#health = health
  }

  /** As if the machine had forgotten the task: it is gone and nobody knows how. */
  lose(handleId: string): void {
    this.#tasks.delete(handleId)
    this.#lost.add(handleId)
  }

  fingerprint(): Promise<DriverHealth> {
    return Promise.resolve(this.#health)
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const config = readMockConfig(launch.config)
    if (config.startBlockMs > 0) await pause(this.#clock, config.startBlockMs)
    if (config.startError !== '') {
      const kind = config.isStartErrorRecoverable ? 'task-start' : 'task-unstartable'
      throw new Fault(kind, config.startError)
    }
    const task = new MockTask({ launch, config, clock: this.#clock })
    this.#tasks.set(launch.handle.id, task)
    return task.attach(() => this.#tasks.delete(launch.handle.id))
  }

  recover(handle: TaskHandle): Promise<Recovery> {
    const { id } = handle
    const task = this.#tasks.get(id)
    if (task !== undefined) {
      return Promise.resolve({ kind: 'attached', task: task.attach(() => this.#tasks.delete(id)) })
    }
    if (this.#lost.has(id)) return Promise.resolve({ kind: 'lost', reason: 'the task was lost' })
    return Promise.resolve({ kind: 'never-started' })
  }
}

/** The pretended process: it lives whether or not an agent looks at it. */
class MockTask {
  readonly launch: TaskLaunch
  readonly exited: Promise<TaskExit>
  /** The signals it was sent, in order. */
  readonly signals: string[] = []
  readonly #config: MockConfig
  readonly #clock: Clock
  readonly #end = Promise.withResolvers<TaskExit>()
  readonly #over = new AbortController()

  constructor(options: {
    readonly launch: TaskLaunch
    readonly config: MockConfig
    readonly clock: Clock
  }) {
    this.launch = options.launch
    this.#config = options.config
    this.#clock = options.clock
    this.exited = this.#end.promise
    const { runForMs, exitCode, exitSignal } = options.config
    if (runForMs !== undefined) this.#endAfter(runForMs, exitCode, exitSignal)
  }

  get hasExited(): boolean {
    return this.#over.signal.aborted
  }

  attach(forget: () => void): RunningTask {
    const detached = new AbortController()
    const { exited, launch } = this
    const seen = new Promise<TaskExit>((resolve) => {
      void exited.then((exit) => (detached.signal.aborted ? undefined : resolve(exit)))
    })
    return {
      handle: launch.handle,
      exited: seen,
      signal: (name) => this.#signal(name),
      stop: (request) => this.#stop(request),
      detach: () => detached.abort(),
      forget: () => Promise.resolve(forget()),
    }
  }

  /** Ends the task from outside, as a crash would. */
  exit(code: number, signal = 0): void {
    if (this.hasExited) return
    this.#over.abort()
    const atMs = this.#clock.nowMs()
    this.#end.resolve({ exitCode: code, signal, oomKilled: false, message: '', atMs })
  }

  #endAfter(delayMs: number, code: number, signal: number): void {
    const status = signal === 0 ? code : 128 + signal
    void pause(this.#clock, delayMs, this.#over.signal).then((passed) => {
      return passed ? this.exit(status, signal) : undefined
    })
  }

  async #signal(name: string): Promise<void> {
    if (!Object.hasOwn(constants.signals, name)) {
      throw new Fault('task-signal', `no signal is named ${JSON.stringify(name)}`)
    }
    if (this.hasExited) throw new Fault('task-gone', 'the task is not running')
    if (this.#config.signalError !== '') throw new Fault('task-signal', this.#config.signalError)
    this.signals.push(name)
    await Promise.resolve()
  }

  async #stop({ signal, timeoutMs }: StopRequest): Promise<void> {
    if (this.hasExited) return
    this.signals.push(signal === '' ? 'SIGINT' : signal)
    const { killAfterMs } = this.#config
    // A signal that comes in time is obeyed with success, force never is.
    const isForced = killAfterMs > timeoutMs
    this.#endAfter(Math.min(killAfterMs, timeoutMs), 0, isForced ? constants.signals.SIGKILL : 0)
    await this.exited
  }
}

export function readMockConfig(config: Readonly<Record<string, unknown>>): MockConfig {
  return {
    runForMs: duration('run_for', config['run_for']),
    exitCode: integer('exit_code', config['exit_code']),
    exitSignal: integer('exit_signal', config['exit_signal']),
    startError: text('start_error', config['start_error']),
    isStartErrorRecoverable: config['start_error_recoverable'] === true,
    startBlockMs: duration('start_block_for', config['start_block_for']) ?? 0,
    killAfterMs: duration('kill_after', config['kill_after']) ?? 0,
    signalError: text('signal_error', config['signal_error']),
  }
}

function duration(field: string, value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined
  const ms = typeof value === 'string' ? parseDurationMs(value) : undefined
  if (ms === undefined || ms < 0) throw new Fault('task-config', `${field} must be a duration`)
  return ms
}

function integer(field: string, value: unknown): number {
  if (value === undefined || value === null) return 0
  if (typeof value === 'number' && Number.isInteger(value)) return value
  throw new Fault('task-config', `${field} must be a whole number`)
}

function text(field: string, value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  throw new Fault('task-config', `${field} must be a text`)
}
