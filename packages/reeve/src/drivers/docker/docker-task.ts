import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import {
  DRIVER_AWAY,
  isMissing,
  pause,
  withDeadline,
  type DriverAddress,
  type ExecRequest,
  type ExecSession,
  type LogFiles,
  type RunningTask,
  type StopRequest,
  type TaskExit,
  type TaskHandle,
  type TaskUsage,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { isAlive, readProc, readProcess, type ProcessRef } from '../raw-exec/processes.ts'
import { execInContainer } from './container-session.ts'
import { usageFromStats } from './container-usage.ts'
import { isSuccess, member, numberAt, parsed, refusalText, textAt, type Engine } from './engine.ts'
import { engineSignal } from './engine-signal.ts'
import { LogFollower } from './log-follower.ts'

/** Containers are told with this one. */
const DEFAULT_SIGNAL = 'SIGTERM'

/** How long an engine may take to end a container by force. */
const KILL_MS_MAX = 30_000

/** How long to wait before asking an engine again that went away. */
const RETRY_MS = 1_000

/** What the next agent needs to know of a container. */
export interface ContainerRecord {
  readonly containerId: string
  readonly logs: LogFiles | null
  readonly isTty: boolean
  readonly hasMemoryLimit: boolean
  /** Absent in records of agents that did not keep it. */
  readonly isIpv6Advertised?: boolean
  /** Whether it has no cores of its own. Absent in records of agents that did not move any. */
  readonly sharesCores?: boolean
}

const RECORD_FILE = 'container.json'

export async function writeRecord({ dir }: TaskHandle, record: ContainerRecord): Promise<void> {
  await writeFile(join(dir, RECORD_FILE), JSON.stringify(record), { mode: 0o600 })
}

export async function readRecord({ dir }: TaskHandle): Promise<ContainerRecord | undefined> {
  try {
    // Written by this driver; the directory is the agent's own.
    return JSON.parse(await readFile(join(dir, RECORD_FILE), 'utf8')) as ContainerRecord
  } catch (thrown) {
    if (isMissing(thrown)) return undefined
    throw thrown
  }
}

interface DockerTaskOptions {
  readonly handle: TaskHandle
  readonly record: ContainerRecord
  readonly address: DriverAddress | undefined
  readonly engine: Engine
  readonly clock: Clock
  /** Told what the owner of the task should know, such as lost output. */
  readonly report?: ((message: string) => void) | undefined
  /** True: the container stays in the engine after its end, for whoever wants to inspect it. */
  readonly keepsContainer?: boolean
}

/** A task in a container, whoever started it. */
export class DockerTask implements RunningTask {
  readonly handle: TaskHandle
  readonly address: DriverAddress | undefined
  readonly exited: Promise<TaskExit>
  readonly #options: DockerTaskOptions
  readonly #detached = new AbortController()
  readonly #follower: LogFollower | undefined
  /** Settles when the container does not run any more; its output may still be read. */
  readonly #containerEnded = Promise.withResolvers<void>()
  #process: ProcessRef | undefined
  #hasExited = false
  #wasSignalled = false

  constructor(options: DockerTaskOptions) {
    this.#options = options
    this.handle = options.handle
    this.address = options.address
    const { record, engine, clock, handle } = options
    const { containerId, logs, isTty } = record
    if (logs !== null) {
      this.#follower = new LogFollower({
        engine,
        containerId,
        logs,
        isTty,
        dir: handle.dir,
        clock,
        report: (message) => options.report?.(message),
        isRunning: () => this.#isRunning(),
        logBytes: () => this.#logBytes(),
      })
    }
    this.exited = this.#watch()
  }

  async signal(name: string): Promise<void> {
    const signal = engineSignal(name)
    if (signal === undefined) {
      throw new Fault('task-signal', `no signal is named ${JSON.stringify(name)}`)
    }
    if (this.#hasExited || !(await this.#kill(signal))) {
      throw new Fault('task-gone', 'the task is not running')
    }
  }

  async stop(request: StopRequest): Promise<void> {
    if (!this.#hasExited) await this.#endContainer(request).catch(throwAway)
    // The rest of the output takes as long as the engine needs for it.
    await this.exited
  }

  async #endContainer({ signal, timeoutMs }: StopRequest): Promise<void> {
    const { clock } = this.#options
    await this.#sendStopSignal(signal)
    const inTime = new AbortController()
    const isLate = pause(clock, timeoutMs, inTime.signal)
    const ended = this.#containerEnded.promise
    const mustKill = await Promise.race([ended.then(() => false), isLate])
    inTime.abort()
    if (!mustKill) return
    await this.#kill('SIGKILL')
    const deadline = { clock, ms: KILL_MS_MAX, what: 'the end of the container' }
    await withDeadline(ended, deadline).catch((thrown: unknown) => {
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
    const answer = await engine.call({
      method: 'GET',
      path: `/containers/${this.#id}/stats`,
      query: { stream: 'false', 'one-shot': 'true' },
    })
    const stats = isSuccess(answer) ? parsed(answer.text) : undefined
    return stats === undefined ? undefined : usageFromStats(stats, clock.nowMs())
  }

  detach(): void {
    this.#detached.abort()
    this.#follower?.stop()
  }

  async forget(): Promise<void> {
    const { engine, keepsContainer } = this.#options
    if (keepsContainer !== true) await removeContainer(engine, this.#id)
    // The reader of its log may be writing its last note.
    await rm(this.handle.dir, { recursive: true, force: true, maxRetries: 5 })
  }

  get #id(): string {
    return this.#options.record.containerId
  }

  /** False when it does not run. */
  async #kill(signal: string): Promise<boolean> {
    this.#wasSignalled = true
    const path = `/containers/${this.#id}/kill`
    const answer = await this.#options.engine.call({ method: 'POST', path, query: { signal } })
    if (isSuccess(answer)) return true
    // 404: it was removed; 409: it has ended; podman says the latter with 500.
    const text = refusalText(answer)
    if (answer.status === 404 || answer.status === 409 || /not running|state/.test(text))
      return false
    throw new Fault('task-signal', `the container cannot be signalled: ${text}`)
  }

  /** The task's own signal, else what the image asks for, in the words of the engine. */
  async #sendStopSignal(asked: string): Promise<void> {
    const own = engineSignal(asked)
    const state = own === undefined ? await this.#inspect().catch(() => undefined) : undefined
    const wanted = own ?? textAt(state, 'Config', 'StopSignal')
    try {
      await this.#kill(wanted === '' ? DEFAULT_SIGNAL : wanted)
    } catch (thrown) {
      // A misspelt signal must not keep the task alive.
      if (!(thrown instanceof Fault) || thrown.kind !== 'task-signal') throw thrown
      await this.#kill(DEFAULT_SIGNAL)
    }
  }

  async #watch(): Promise<TaskExit> {
    const { signal } = this.#detached
    const state = await this.#finalState(signal)
    if (signal.aborted) return NEVER
    this.#hasExited = true
    this.#containerEnded.resolve()
    await this.#follower?.finish()
    if (signal.aborted) return NEVER
    return this.#exitOf(state)
  }

  /** Undefined when the container is no more. */
  async #finalState(signal: AbortSignal): Promise<unknown> {
    const { engine, clock } = this.#options
    while (!signal.aborted) {
      try {
        const path = `/containers/${this.#id}/wait`
        await engine.call({ method: 'POST', path, query: { condition: 'not-running' }, signal })
        const found = await this.#inspect()
        if (found === undefined || hasEnded(found)) return member(found, 'State')
      } catch {
        // The engine is away: the container goes on without it.
      }
      await pause(clock, RETRY_MS, signal)
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
    const oomKilled = member(state, 'OOMKilled') === true
    const finishedMs = Date.parse(textAt(state, 'FinishedAt'))
    return {
      exitCode,
      // Engines tell only the code; 128 + n is how they put death by signal n.
      signal: exitCode > 128 && exitCode <= 128 + SIGNAL_MAX ? exitCode - 128 : 0,
      oomKilled,
      message: textAt(state, 'Error') || this.#suspicion(exitCode, oomKilled),
      atMs: finishedMs > 0 ? finishedMs : nowMs,
    }
  }

  /** Not every engine tells of it where it happens. */
  #suspicion(exitCode: number, oomKilled: boolean): string {
    const isUnexplained = exitCode === 128 + constants.signals.SIGKILL && !this.#wasSignalled
    const { hasMemoryLimit } = this.#options.record
    return isUnexplained && hasMemoryLimit && !oomKilled ? 'possibly out of memory' : ''
  }

  /**
   * Asked for each batch of output, so the kernel answers where it can: the first process of the
   * container is known by its number, and by the container's id in its control groups.
   */
  async #isRunning(): Promise<boolean> {
    if (this.#process !== undefined) return isAlive(this.#process)
    const state = member(await this.#inspect(), 'State')
    const pid = numberAt(state, 'Pid')
    const groups = pid > 0 ? readProc(pid, 'cgroup') : undefined
    // Another number space, or the groups are hidden: the engine is asked each time.
    if (groups?.includes(this.#id) === true) this.#process = readProcess(pid)
    return this.#process === undefined ? member(state, 'Running') === true : isAlive(this.#process)
  }

  /** The engine's own file, where it has one and it is on this machine. */
  async #logBytes(): Promise<number | undefined> {
    const path = textAt(await this.#inspect(), 'LogPath')
    return path === '' ? undefined : (await stat(path)).size
  }

  async #inspect(): Promise<unknown> {
    const path = `/containers/${this.#id}/json`
    const answer = await this.#options.engine.call({ method: 'GET', path })
    if (answer.status === 404) return undefined
    if (isSuccess(answer)) return parsed(answer.text)
    throw new Fault('engine', refusalText(answer))
  }
}

/** Where others reach the container; as the engine describes it. */
export function addressOf(container: unknown, record: ContainerRecord): DriverAddress | undefined {
  const networks = member(container, 'NetworkSettings', 'Networks')
  const first: unknown = Object.values(networks ?? {})[0]
  const field = record.isIpv6Advertised === true ? 'GlobalIPv6Address' : 'IPAddress'
  const ip = textAt(first, field) || textAt(container, 'NetworkSettings', field)
  return ip === '' ? undefined : { ip, ports: {} }
}

/** An engine that cannot be asked now is asked again by the agent. */
export function throwAway(thrown: unknown): never {
  if (!(thrown instanceof Fault) || thrown.kind !== 'engine') throw thrown
  throw new Fault(DRIVER_AWAY, thrown.message, { cause: thrown })
}

/** An engine that cannot do it now is asked again later. */
export function ignoreAway(thrown: unknown): void {
  if (!(thrown instanceof Fault) || thrown.kind !== 'engine') throw thrown
}

/** Ends it too, where it runs; one that is not there is removed. */
export async function removeContainer(engine: Engine, id: string): Promise<void> {
  const path = `/containers/${id}`
  const query = { force: 'true', v: 'true' }
  const answer = await engine.call({ method: 'DELETE', path, query })
  if (isSuccess(answer) || answer.status === 404) return
  throw new Fault('engine', `the container cannot be removed: ${refusalText(answer)}`)
}

const SIGNAL_MAX = 64

const NEVER = new Promise<never>(() => undefined)

function hasEnded(container: unknown): boolean {
  const status = textAt(container, 'State', 'Status')
  return member(container, 'State', 'Running') === false && status !== 'created'
}
