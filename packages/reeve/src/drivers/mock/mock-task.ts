import { constants } from 'node:os'
import {
  findSignal,
  pause,
  type DriverAddress,
  type ExecRequest,
  type ExecSession,
  type RunningTask,
  type StopRequest,
  type TaskExit,
  type TaskLaunch,
  type TaskUsage,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { RotatingLog } from '../logs/rotating-log.ts'
import type { MockConfig } from './mock-config.ts'
import { MockSession } from './mock-session.ts'
import { say } from './say.ts'

const NS_PER_MS = 1_000_000
const BYTES_PER_MB = 1024 * 1024

interface MockTaskOptions {
  readonly launch: TaskLaunch
  readonly config: MockConfig
  readonly clock: Clock
  /** Called when the pretended driver loses it. */
  lost(): void
}

/** The pretended process: it lives whether or not an agent looks at it. */
export class MockTask {
  readonly launch: TaskLaunch
  readonly exited: Promise<TaskExit>
  /** The signals it was sent, in order. */
  readonly signals: string[] = []
  /** The commands that were run inside, in order. */
  readonly sessions: MockSession[] = []
  readonly #options: MockTaskOptions
  readonly #startedMs: number
  readonly #end = Promise.withResolvers<TaskExit>()
  readonly #over = new AbortController()

  constructor(options: MockTaskOptions) {
    this.#options = options
    this.launch = options.launch
    this.#startedMs = options.clock.nowMs()
    this.exited = this.#end.promise
    const { runForMs, exitCode, exitSignal, exitMessage, loseAfterMs } = options.config
    void this.#speak()
    if (loseAfterMs !== undefined) this.#loseAfter(loseAfterMs)
    if (runForMs !== undefined) this.#endAfter(runForMs, exitOf(exitCode, exitSignal, exitMessage))
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
      address: this.#address(),
      exited: seen,
      signal: (name) => this.#signal(name),
      stop: (request) => this.#stop(request),
      exec: (request) => this.#exec(request),
      usage: () => Promise.resolve(this.#usage()),
      detach: () => detached.abort(),
      forget: () => Promise.resolve(forget()),
    }
  }

  /** Ends the task from outside, as a crash would. */
  exit(code: number, signal = 0, message = ''): void {
    if (this.hasExited) return
    this.#over.abort()
    const atMs = this.#options.clock.nowMs()
    this.#end.resolve({ exitCode: code, signal, oomKilled: false, message, atMs })
  }

  async #speak(): Promise<void> {
    const { config, clock } = this.#options
    const { logs } = this.launch
    if (logs === undefined) return
    const { signal } = this.#over
    const streams = [
      { prefix: logs.stdoutPrefix, output: config.stdout },
      { prefix: logs.stderrPrefix, output: config.stderr },
    ].filter(({ output }) => output.text !== '')
    await Promise.all(
      streams.map(async ({ prefix, output }) => {
        const log = new RotatingLog({ ...logs, prefix })
        await say(output, { clock, signal, write: (bytes) => log.write(bytes) })
        await log.close()
      }),
    )
  }

  #loseAfter(delayMs: number): void {
    void pause(this.#options.clock, delayMs, this.#over.signal).then((passed) => {
      return passed ? this.#lose() : undefined
    })
  }

  #lose(): void {
    this.#options.lost()
    this.exit(-1, 0, 'the driver lost the task')
  }

  #endAfter(delayMs: number, end: Pick<TaskExit, 'exitCode' | 'signal' | 'message'>): void {
    void pause(this.#options.clock, delayMs, this.#over.signal).then((passed) => {
      return passed ? this.exit(end.exitCode, end.signal, end.message) : undefined
    })
  }

  #address(): DriverAddress | undefined {
    const { driverIp, driverPorts } = this.#options.config
    return driverIp === '' ? undefined : { ip: driverIp, ports: driverPorts }
  }

  async #signal(name: string): Promise<void> {
    if (findSignal(name) === undefined) {
      throw new Fault('task-signal', `no signal is named ${JSON.stringify(name)}`)
    }
    this.#mustRun()
    const { signalError } = this.#options.config
    if (signalError !== '') throw new Fault('task-signal', signalError)
    this.signals.push(name)
    await Promise.resolve()
  }

  async #stop({ signal, timeoutMs }: StopRequest): Promise<void> {
    if (this.hasExited) return
    this.signals.push(signal === '' ? 'SIGINT' : signal)
    const { killAfterMs } = this.#options.config
    // A signal that comes in time is obeyed with success, force never is.
    const isForced = killAfterMs > timeoutMs
    const end = exitOf(0, isForced ? constants.signals.SIGKILL : 0, '')
    this.#endAfter(Math.min(killAfterMs, timeoutMs), end)
    await this.exited
  }

  async #exec(request: ExecRequest): Promise<ExecSession> {
    this.#mustRun()
    const [program] = request.command
    if (program === undefined || program === '') {
      throw new Fault('task-config', 'the command is empty')
    }
    const { clock, config } = this.#options
    const taskOver = this.#over.signal
    const session = new MockSession({ request, process: config.execCommand, clock, taskOver })
    this.sessions.push(session)
    return Promise.resolve(session)
  }

  /** A program that takes half of what it was given, so that totals can be foretold. */
  #usage(): TaskUsage | undefined {
    if (this.hasExited) return undefined
    const atMs = this.#options.clock.nowMs()
    const { cpuFraction, memoryMB } = this.launch.resources
    const totalNs = Math.round(((atMs - this.#startedMs) * NS_PER_MS * cpuFraction) / 2)
    const rssBytes = Math.round((memoryMB * BYTES_PER_MB) / 2)
    const usageBytes = rssBytes
    return {
      atMs,
      cpu: { totalNs, userNs: totalNs, systemNs: 0, throttledPeriods: 0, throttledNs: 0 },
      memory: { rssBytes, cacheBytes: 0, swapBytes: 0, usageBytes, maxUsageBytes: usageBytes },
      pids: 1,
    }
  }

  #mustRun(): void {
    if (this.hasExited) throw new Fault('task-gone', 'the task is not running')
  }
}

function exitOf(
  code: number,
  signal: number,
  message: string,
): Pick<TaskExit, 'exitCode' | 'signal' | 'message'> {
  return { exitCode: signal === 0 ? code : 128 + signal, signal, message }
}
