import { constants } from 'node:os'
import { PassThrough } from 'node:stream'
import {
  sleep,
  type DriverHealth,
  type Recovery,
  type RunningTask,
  type TaskDriver,
  type TaskHandle,
  type TaskLaunch,
  findSignal,
  type DriverAddress,
  type ExecRequest,
  type ExecSession,
  type StopRequest,
  type TaskExit,
  type TaskUsage,
  type TerminalSize,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { RotatingLogWriter } from '../rotating-log.ts'
import { type MockConfig, type MockProcess, readMockConfig } from './mock-config.ts'

/**
 * Simulates tasks on the given clock, for tests and simulated nodes. Tasks belong to the driver
 * object: a new agent with the same driver recovers them.
 */
export class MockDriver implements TaskDriver {
  readonly name: string = 'mock'
  readonly isolation = 'none'
  readonly #clock: Clock
  readonly #tasks = new Map<string, MockTask>()
  readonly #lostHandleIds = new Set<string>()
  #health: DriverHealth = {
    detected: true,
    healthy: true,
    description: 'Healthy',
    attributes: { 'driver.mock': '1' },
  }

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock
  }

  /** The running tasks in the order of their starts. */
  get running(): readonly MockTask[] {
    return [...this.#tasks.values()].filter((task) => !task.hasExited)
  }

  /** Sets the result of the next fingerprint. */
  setHealth(health: DriverHealth): void {
    this.#health = health
  }

  /** Removes a task without an exit status, as after a reboot. */
  markLost(handleId: string): void {
    this.#tasks.delete(handleId)
    this.#lostHandleIds.add(handleId)
  }

  fingerprint(): Promise<DriverHealth> {
    return Promise.resolve(this.#health)
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const config = readMockConfig(launch.config)
    if (config.startBlockMs > 0) await sleep(this.#clock, config.startBlockMs)
    if (config.startError !== '') {
      const kind = config.isStartErrorRecoverable ? 'task-start' : 'task-unstartable'
      throw new Fault(kind, config.startError)
    }
    const { id } = launch.handle
    const onLost = (): void => this.markLost(id)
    const task = new MockTask({ launch, config, clock: this.#clock, onLost })
    this.#tasks.set(id, task)
    return task.attach(() => this.#tasks.delete(id))
  }

  recover(handle: TaskHandle): Promise<Recovery> {
    const { id } = handle
    const task = this.#tasks.get(id)
    if (task !== undefined) {
      return Promise.resolve({ kind: 'attached', task: task.attach(() => this.#tasks.delete(id)) })
    }
    if (this.#lostHandleIds.has(id))
      return Promise.resolve({ kind: 'lost', reason: 'the task was lost' })
    return Promise.resolve({ kind: 'never-started' })
  }
}

const NS_PER_MS = 1_000_000
const BYTES_PER_MB = 1024 * 1024

interface MockTaskOptions {
  readonly launch: TaskLaunch
  readonly config: MockConfig
  readonly clock: Clock
  /** Called when the simulated driver loses the task. */
  onLost(): void
}

/** The simulated process, which runs independently of the agent. */
class MockTask {
  readonly launch: TaskLaunch
  readonly exited: Promise<TaskExit>
  /** The received signals in order. */
  readonly signals: string[] = []
  /** The commands that were run in the task, in order. */
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

  /** Ends the task like a crash. */
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
    // A signal within the timeout ends the task with exit code 0; a forced kill does not.
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

  /** Usage of a program that uses half of its resources, so that tests can predict totals. */
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

const SIGHUP_STATUS = 129
const SIGKILL_STATUS = 137

interface MockExecOptions {
  readonly request: ExecRequest
  /** Undefined: echoes its input until the end. */
  readonly process: MockProcess | undefined
  readonly clock: Clock
  /** Aborted when the task ends, which ends the command. */
  readonly taskEnded: AbortSignal
}

/** A simulated command in a simulated task. */
class MockExecSession implements ExecSession {
  readonly request: ExecRequest
  /** The sizes of its terminal in order. */
  readonly sizes: TerminalSize[] = []
  readonly stdin = new PassThrough()
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  readonly exited: Promise<number>
  readonly #exit = Promise.withResolvers<number>()
  readonly #ended = new AbortController()

  constructor({ request, process, clock, taskEnded }: MockExecOptions) {
    this.request = request
    this.exited = this.#exit.promise
    if (request.tty !== undefined) {
      this.sizes.push(request.tty)
      this.stderr.end()
    }
    taskEnded.addEventListener('abort', () => this.#end(SIGKILL_STATUS), { once: true })
    if (process === undefined) this.#echo()
    else void this.#runProcess(process, clock)
  }

  resize(size: TerminalSize): void {
    this.sizes.push(size)
  }

  hangUp(): void {
    this.#end(SIGHUP_STATUS)
  }

  #echo(): void {
    this.stdin.pipe(this.stdout, { end: false })
    this.stdin.once('end', () => this.#end(0))
  }

  async #runProcess(process: MockProcess, clock: Clock): Promise<void> {
    this.stdin.resume()
    const { signal } = this.#ended
    const errorStream = this.request.tty === undefined ? this.stderr : this.stdout
    const write = (output: MockProcess['stdout'], target: PassThrough): Promise<void> =>
      writeOutput(output, { clock, signal, write: (bytes) => target.write(bytes) })
    const written = Promise.all([
      write(process.stdout, this.stdout),
      write(process.stderr, errorStream),
    ])
    if (process.runForMs === undefined) await written
    else await sleep(clock, process.runForMs, signal)
    this.#end(process.exitSignal === 0 ? process.exitCode : 128 + process.exitSignal)
  }

  #end(status: number): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.stdin.unpipe(this.stdout)
    this.stdin.resume()
    this.stdout.end()
    if (!this.stderr.writableEnded) this.stderr.end()
    this.#exit.resolve(status)
  }
}

interface OutputTarget {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly write: (bytes: Uint8Array) => unknown
}

/** Writes the text and its repetitions until the signal is aborted. */
async function writeOutput(output: MockProcess['stdout'], target: OutputTarget): Promise<void> {
  if (output.text === '') return
  const bytes = Buffer.from(output.text)
  for (let count = 0; count <= output.repeatCount && !target.signal.aborted; count += 1) {
    // Yields even without a configured pause, so that a million repetitions do not block the event
    // loop.
    if (count > 0 && !(await sleep(target.clock, output.repeatIntervalMs, target.signal))) return
    await target.write(bytes)
  }
}
