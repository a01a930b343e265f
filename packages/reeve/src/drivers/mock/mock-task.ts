import { constants } from 'node:os'
import {
  findSignal,
  sleep,
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
import { RotatingLogWriter } from '../logs/rotating-log.ts'
import type { MockConfig } from './mock-config.ts'
import { MockExecSession } from './mock-session.ts'
import { writeOutput } from './say.ts'

const NS_PER_MS = 1_000_000
const BYTES_PER_MB = 1024 * 1024

interface MockTaskOptions {
  readonly launch: TaskLaunch
  readonly config: MockConfig
  readonly clock: Clock
  /** Called when the pretended driver loses it. */
  onLost(): void
}

/** The pretended process: it lives whether or not an agent looks at it. */
export class MockTask {
  readonly launch: TaskLaunch
  readonly exited: Promise<TaskExit>
  /** The signals it was sent, in order. */
  readonly signals: string[] = []
  /** The commands that were run inside, in order. */
  readonly execSessions: MockExecSession[] = []
  readonly #options: MockTaskOptions
  readonly #startedMs: number
  readonly #exit = Promise.withResolvers<TaskExit>()
  readonly #ended = new AbortController()

  constructor(options: MockTaskOptions) {
    this.#options = options
    this.launch = options.launch
    this.#startedMs = options.clock.nowMs()
    this.exited = this.#exit.promise
    const { runForMs, exitCode, exitSignal, exitMessage, lostAfterMs } = options.config
    void this.#writeLogs()
    if (lostAfterMs !== undefined) this.#markLostAfter(lostAfterMs)
    if (runForMs !== undefined) this.#exitAfter(runForMs, exitOf(exitCode, exitSignal, exitMessage))
  }

  get hasExited(): boolean {
    return this.#ended.signal.aborted
  }

  attach(destroyRecords: () => void): RunningTask {
    const detached = new AbortController()
    const { exited, launch } = this
    const observedExit = new Promise<TaskExit>((resolve) => {
      void exited.then((exit) => (detached.signal.aborted ? undefined : resolve(exit)))
    })
    return {
      handle: launch.handle,
      address: this.#address(),
      exited: observedExit,
      signal: (name) => this.#signal(name),
      stop: (request) => this.#stop(request),
      exec: (request) => this.#exec(request),
      usage: () => Promise.resolve(this.#usage()),
      detach: () => detached.abort(),
      destroyRecords: () => Promise.resolve(destroyRecords()),
    }
  }

  /** Ends the task from outside, as a crash would. */
  exit(code: number, signal = 0, message = ''): void {
    if (this.hasExited) return
    this.#ended.abort()
    const atMs = this.#options.clock.nowMs()
    this.#exit.resolve({ exitCode: code, signal, oomKilled: false, message, atMs })
  }

  async #writeLogs(): Promise<void> {
    const { config, clock } = this.#options
    const { logs } = this.launch
    if (logs === undefined) return
    const { signal } = this.#ended
    const streams = [
      { prefix: logs.stdoutPrefix, output: config.stdout },
      { prefix: logs.stderrPrefix, output: config.stderr },
    ].filter(({ output }) => output.text !== '')
    await Promise.all(
      streams.map(async ({ prefix, output }) => {
        const log = new RotatingLogWriter({ ...logs, prefix })
        await writeOutput(output, { clock, signal, write: (bytes) => log.write(bytes) })
        await log.close()
      }),
    )
  }

  #markLostAfter(delayMs: number): void {
    void sleep(this.#options.clock, delayMs, this.#ended.signal).then((passed) => {
      return passed ? this.#markLost() : undefined
    })
  }

  #markLost(): void {
    this.#options.onLost()
    this.exit(-1, 0, 'the driver lost the task')
  }

  #exitAfter(delayMs: number, exit: Pick<TaskExit, 'exitCode' | 'signal' | 'message'>): void {
    void sleep(this.#options.clock, delayMs, this.#ended.signal).then((passed) => {
      return passed ? this.exit(exit.exitCode, exit.signal, exit.message) : undefined
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
    this.#requireRunning()
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
    const exit = exitOf(0, isForced ? constants.signals.SIGKILL : 0, '')
    this.#exitAfter(Math.min(killAfterMs, timeoutMs), exit)
    await this.exited
  }

  async #exec(request: ExecRequest): Promise<ExecSession> {
    this.#requireRunning()
    const [program] = request.command
    if (program === undefined || program === '') {
      throw new Fault('task-config', 'the command is empty')
    }
    const { clock, config } = this.#options
    const taskEnded = this.#ended.signal
    const session = new MockExecSession({ request, process: config.execCommand, clock, taskEnded })
    this.execSessions.push(session)
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

  #requireRunning(): void {
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
