import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import {
  DRIVER_UNAVAILABLE,
  isMissing,
  sleep,
  withTimeout,
  type DriverAddress,
  type ExecRequest,
  type ExecSession,
  type TaskLogFiles,
  type RunningTask,
  type StopRequest,
  type TaskExit,
  type TaskHandle,
  type TaskUsage,
  findSignal,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { realTimeSignalNumber } from '@reeve/kit/signal.ts'
import { isAlive, NEVER, readProcFile, readProcess, type ProcessId } from '../proc/processes.ts'
import { execInContainer } from './container-exec.ts'
import {
  isSuccess,
  getPath,
  numberAt,
  tryParseJson,
  errorMessageOf,
  stringAt,
  type EngineClient,
} from './engine-client.ts'
import { LogFollower } from './log-follower.ts'

/** Default stop signal of containers. */
const DEFAULT_SIGNAL = 'SIGTERM'

/** Timeout for killing a container by force. */
const KILL_TIMEOUT_MS = 30_000

/** How long to wait before asking an engine again that went away. */
const RETRY_DELAY_MS = 1_000

/** Data about a container for the next agent. */
export interface ContainerRecord {
  readonly containerId: string
  readonly logs: TaskLogFiles | null
  readonly isTty: boolean
  readonly hasMemoryLimit: boolean
  /** Missing in records of older agents. */
  readonly isIpv6Advertised?: boolean
  /** Whether the task has no reserved cores. Missing in records of older agents. */
  readonly sharesCores?: boolean
}

const CONTAINER_RECORD_FILE = 'container.json'

export async function writeContainerRecord(
  { dir }: TaskHandle,
  record: ContainerRecord,
): Promise<void> {
  await writeFile(join(dir, CONTAINER_RECORD_FILE), JSON.stringify(record), { mode: 0o600 })
}

export async function readContainerRecord({
  dir,
}: TaskHandle): Promise<ContainerRecord | undefined> {
  try {
    // Written by this driver; the directory is the agent's own.
    return JSON.parse(await readFile(join(dir, CONTAINER_RECORD_FILE), 'utf8')) as ContainerRecord
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

interface DockerTaskOptions {
  readonly handle: TaskHandle
  readonly record: ContainerRecord
  readonly address: DriverAddress | undefined
  readonly engine: EngineClient
  readonly clock: Clock
  /** Called with events for the task, such as lost output. */
  readonly report?: ((message: string) => void) | undefined
  /** True: the container is kept after its end, for inspection. */
  readonly keepsContainer?: boolean
}

/** A task in a container, started by this or an earlier agent. */
export class DockerTask implements RunningTask {
  readonly handle: TaskHandle
  readonly address: DriverAddress | undefined
  readonly exited: Promise<TaskExit>
  readonly #options: DockerTaskOptions
  readonly #detached = new AbortController()
  readonly #logFollower: LogFollower | undefined
  /** Resolves when the container has ended; its output may still be read. */
  readonly #containerEnded = Promise.withResolvers<void>()
  #mainProcess: ProcessId | undefined
  #hasExited = false
  #wasSignalled = false

  constructor(options: DockerTaskOptions) {
    this.#options = options
    this.handle = options.handle
    this.address = options.address
    const { record, engine, clock, handle } = options
    const { containerId, logs, isTty } = record
    if (logs !== null) {
      this.#logFollower = new LogFollower({
        engine,
        containerId,
        logs,
        isTty,
        dir: handle.dir,
        clock,
        report: (message) => options.report?.(message),
        isRunning: () => this.#isRunning(),
        engineLogSize: () => this.#engineLogSize(),
      })
    }
    this.exited = this.#awaitExit()
  }

  async signal(name: string): Promise<void> {
    const signal = toEngineSignal(name)
    if (signal === undefined) {
      throw new Fault('task-signal', `no signal is named ${JSON.stringify(name)}`)
    }
    if (this.#hasExited || !(await this.#kill(signal))) {
      throw new Fault('task-gone', 'the task is not running')
    }
  }

  async stop(request: StopRequest): Promise<void> {
    if (!this.#hasExited) await this.#stopContainer(request).catch(rethrowAsUnavailable)
    // The engine needs time to deliver the remaining output.
    await this.exited
  }

  async #stopContainer({ signal, timeoutMs }: StopRequest): Promise<void> {
    const { clock } = this.#options
    await this.#sendStopSignal(signal)
    const cancelTimeout = new AbortController()
    const timedOut = sleep(clock, timeoutMs, cancelTimeout.signal)
    const ended = this.#containerEnded.promise
    const mustKill = await Promise.race([ended.then(() => false), timedOut])
    cancelTimeout.abort()
    if (!mustKill) return
    await this.#kill('SIGKILL')
    const deadline = { clock, timeoutMs: KILL_TIMEOUT_MS, operation: 'the end of the container' }
    await withTimeout(ended, deadline).catch((thrown: unknown) => {
      throw new Fault('task-unkillable', 'the container survived SIGKILL', { cause: thrown })
    })
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    if (this.#hasExited) throw new Fault('task-gone', 'the task is not running')
    const { engine, clock } = this.#options
    return execInContainer(request, { engine, clock, containerId: this.#id })
  }

  async usage(): Promise<TaskUsage | undefined> {
    if (this.#hasExited) return undefined
    const { engine, clock } = this.#options
    const response = await engine.call({
      method: 'GET',
      path: `/containers/${this.#id}/stats`,
      query: { stream: 'false', 'one-shot': 'true' },
    })
    const stats = isSuccess(response) ? tryParseJson(response.body) : undefined
    return stats === undefined ? undefined : usageFromStats(stats, clock.nowMs())
  }

  detach(): void {
    this.#detached.abort()
    this.#logFollower?.stop()
  }

  async destroyRecords(): Promise<void> {
    const { engine, keepsContainer } = this.#options
    if (keepsContainer !== true) await removeContainer(engine, this.#id)
    // The log follower may be writing its last position.
    await rm(this.handle.dir, { recursive: true, force: true, maxRetries: 5 })
  }

  get #id(): string {
    return this.#options.record.containerId
  }

  /** Returns false if the container is not running. */
  async #kill(signal: string): Promise<boolean> {
    this.#wasSignalled = true
    const path = `/containers/${this.#id}/kill`
    const response = await this.#options.engine.call({ method: 'POST', path, query: { signal } })
    if (isSuccess(response)) return true
    // 404: removed; 409: ended; podman reports the latter as 500.
    const message = errorMessageOf(response)
    if (response.status === 404 || response.status === 409 || /not running|state/.test(message))
      return false
    throw new Fault('task-signal', `the container cannot be signalled: ${message}`)
  }

  /** Sends the signal of the task, otherwise the stop signal of the image. */
  async #sendStopSignal(requestedSignal: string): Promise<void> {
    const taskSignal = toEngineSignal(requestedSignal)
    const state =
      taskSignal === undefined ? await this.#inspect().catch(() => undefined) : undefined
    const stopSignal = taskSignal ?? stringAt(state, 'Config', 'StopSignal')
    try {
      await this.#kill(stopSignal === '' ? DEFAULT_SIGNAL : stopSignal)
    } catch (thrown) {
      // An invalid signal must not keep the task alive.
      if (!(thrown instanceof Fault) || thrown.kind !== 'task-signal') throw thrown
      await this.#kill(DEFAULT_SIGNAL)
    }
  }

  async #awaitExit(): Promise<TaskExit> {
    const { signal } = this.#detached
    const state = await this.#waitForFinalState(signal)
    if (signal.aborted) return NEVER
    this.#hasExited = true
    this.#containerEnded.resolve()
    await this.#logFollower?.finish()
    if (signal.aborted) return NEVER
    return this.#exitOf(state)
  }

  /** Waits for the end; undefined if the container was removed. */
  async #waitForFinalState(signal: AbortSignal): Promise<unknown> {
    const { engine, clock } = this.#options
    while (!signal.aborted) {
      try {
        const path = `/containers/${this.#id}/wait`
        await engine.call({ method: 'POST', path, query: { condition: 'not-running' }, signal })
        const inspected = await this.#inspect()
        if (inspected === undefined || hasEnded(inspected)) return getPath(inspected, 'State')
      } catch {
        // The engine is unavailable: the container continues without it.
      }
      await sleep(clock, RETRY_DELAY_MS, signal)
    }
    return undefined
  }

  #exitOf(state: unknown): TaskExit {
    const nowMs = this.#options.clock.nowMs()
    if (state === undefined) {
      const message = 'the container was removed'
      return { exitCode: -1, signal: 0, oomKilled: false, message, atMs: nowMs }
    }
    const exitCode = numberAt(state, 'ExitCode')
    const oomKilled = getPath(state, 'OOMKilled') === true
    const finishedMs = Date.parse(stringAt(state, 'FinishedAt'))
    return {
      exitCode,
      // Engines only report the code; 128 + n stands for death by signal n.
      signal: exitCode > 128 && exitCode <= 128 + SIGNAL_NUMBER_MAX ? exitCode - 128 : 0,
      oomKilled,
      message: stringAt(state, 'Error') || this.#oomSuspicion(exitCode, oomKilled),
      atMs: finishedMs > 0 ? finishedMs : nowMs,
    }
  }

  /** Not every engine reports out-of-memory kills. */
  #oomSuspicion(exitCode: number, oomKilled: boolean): string {
    const isUnexplained = exitCode === 128 + constants.signals.SIGKILL && !this.#wasSignalled
    const { hasMemoryLimit } = this.#options.record
    return isUnexplained && hasMemoryLimit && !oomKilled ? 'possibly out of memory' : ''
  }

  /**
   * Whether the container is running. Called for each batch of output, so the kernel is asked if
   * possible: the main process is known by its PID, verified by the container ID in its cgroups.
   */
  async #isRunning(): Promise<boolean> {
    if (this.#mainProcess !== undefined) return isAlive(this.#mainProcess)
    const state = getPath(await this.#inspect(), 'State')
    const pid = numberAt(state, 'Pid')
    const groups = pid > 0 ? readProcFile(pid, 'cgroup') : undefined
    // Another PID namespace, or cgroups are hidden: ask the engine each time.
    if (groups?.includes(this.#id) === true) this.#mainProcess = readProcess(pid)
    return this.#mainProcess === undefined
      ? getPath(state, 'Running') === true
      : isAlive(this.#mainProcess)
  }

  /** Size of the engine's log file, if it exists on this machine. */
  async #engineLogSize(): Promise<number | undefined> {
    const path = stringAt(await this.#inspect(), 'LogPath')
    return path === '' ? undefined : (await stat(path)).size
  }

  async #inspect(): Promise<unknown> {
    const path = `/containers/${this.#id}/json`
    const response = await this.#options.engine.call({ method: 'GET', path })
    if (response.status === 404) return undefined
    if (isSuccess(response)) return tryParseJson(response.body)
    throw new Fault('engine', errorMessageOf(response))
  }
}

/** Address of the container as reported by the engine. */
export function containerAddressOf(
  container: unknown,
  record: ContainerRecord,
): DriverAddress | undefined {
  const networks = getPath(container, 'NetworkSettings', 'Networks')
  const firstNetwork: unknown = Object.values(networks ?? {})[0]
  const field = record.isIpv6Advertised === true ? 'GlobalIPv6Address' : 'IPAddress'
  const ip = stringAt(firstNetwork, field) || stringAt(container, 'NetworkSettings', field)
  return ip === '' ? undefined : { ip, ports: {} }
}

/** The agent retries a call to an unavailable engine. */
export function rethrowAsUnavailable(thrown: unknown): never {
  if (!(thrown instanceof Fault) || thrown.kind !== 'engine') throw thrown
  throw new Fault(DRIVER_UNAVAILABLE, thrown.message, { cause: thrown })
}

/** Ignores an unavailable engine, which is retried later. */
export function ignoreUnavailable(thrown: unknown): void {
  if (!(thrown instanceof Fault) || thrown.kind !== 'engine') throw thrown
}

/** Kills and removes a container; one that does not exist counts as removed. */
export async function removeContainer(engine: EngineClient, id: string): Promise<void> {
  const path = `/containers/${id}`
  const query = { force: 'true', v: 'true' }
  const response = await engine.call({ method: 'DELETE', path, query })
  if (isSuccess(response) || response.status === 404) return
  throw new Fault('engine', `the container cannot be removed: ${errorMessageOf(response)}`)
}

const SIGNAL_NUMBER_MAX = 64

function hasEnded(container: unknown): boolean {
  const status = stringAt(container, 'State', 'Status')
  return getPath(container, 'State', 'Running') === false && status !== 'created'
}

/**
 * What the engine's `stats` say. The names of the memory's parts differ between the kernel's two
 * kinds of control groups, and some engines leave them out.
 */
export function usageFromStats(stats: unknown, atMs: number): TaskUsage {
  const cpu = (name: string): number => numberAt(stats, 'cpu_stats', 'cpu_usage', name)
  const throttled = (name: string): number => numberAt(stats, 'cpu_stats', 'throttling_data', name)
  const memory = (...names: readonly string[]): number => numberAt(stats, 'memory_stats', ...names)
  const usageBytes = memory('usage')
  const cacheBytes =
    memory('stats', 'file') || memory('stats', 'total_cache') || memory('stats', 'cache')
  const rss = memory('stats', 'anon') || memory('stats', 'total_rss') || memory('stats', 'rss')
  return {
    atMs,
    cpu: {
      totalNs: cpu('total_usage'),
      userNs: cpu('usage_in_usermode'),
      systemNs: cpu('usage_in_kernelmode'),
      throttledPeriods: throttled('throttled_periods'),
      throttledNs: throttled('throttled_time'),
    },
    memory: {
      rssBytes: rss === 0 ? Math.max(0, usageBytes - cacheBytes) : rss,
      cacheBytes,
      swapBytes: memory('stats', 'total_swap') || memory('stats', 'swap'),
      usageBytes,
      maxUsageBytes: Math.max(memory('max_usage'), usageBytes),
    },
    pids: numberAt(stats, 'pids_stats', 'current'),
  }
}

const ENGINE_SIGNAL_MAX = 64

/**
 * A signal in the form that every engine accepts: its full name, or a number. Real-time signals are
 * sent as numbers, because engines know only some of their names. Undefined for an unknown name.
 */
export function toEngineSignal(name: string): string | undefined {
  if (/^\d{1,2}$/.test(name)) {
    const number = Number(name)
    return number > 0 && number <= ENGINE_SIGNAL_MAX ? String(number) : undefined
  }
  const signal = name === '' ? undefined : findSignal(name)
  if (signal === undefined) return undefined
  return realTimeSignalNumber(signal.name) === undefined ? signal.name : String(signal.number)
}
