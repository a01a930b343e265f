import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { withTimeout } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** Timeout for the launcher to become ready. */
const READY_TIMEOUT_MS = 10_000

/** Default timeout of a request. */
const RESPONSE_TIMEOUT_MS = 30_000

export type LauncherResponse = Readonly<Record<string, unknown>>

interface PendingRequest {
  resolve(answer: LauncherResponse): void
  reject(fault: Fault): void
}

interface LauncherOptions {
  /** The helper's program file. */
  readonly program: string
  readonly clock: Clock
  /** Called after each start of a launcher with its PID, before any request. */
  onStarted?(pid: number): Promise<void>
  /** Called when the shim of a task has exited. */
  onTaskEnded?(taskId: string): void
}

/**
 * The helper's launcher (native/PROTOCOL.md, section 1): forks in the agent's place, because a
 * fork costs as much as the process is big. Started when it is first needed and again when it dies;
 * no task depends on it.
 */
export class Launcher {
  readonly #options: LauncherOptions
  #current: Promise<LauncherProcess> | undefined
  #isClosed = false

  constructor(options: LauncherOptions) {
    this.#options = options
  }

  /**
   * Sends a request. A rejection is a Fault `helper-<kind>`; a launcher that died or does not
   * respond is a Fault `launcher`, after which the outcome is unknown.
   */
  async request(
    op: string,
    fields: Readonly<Record<string, unknown>> = {},
    timeoutMs: number = RESPONSE_TIMEOUT_MS,
  ): Promise<LauncherResponse> {
    const launcher = await this.#ensureRunning()
    const deadline = {
      clock: this.#options.clock,
      timeoutMs: timeoutMs,
      operation: `the helper's ${op}`,
    }
    const response = await withTimeout(launcher.request(op, fields), deadline).catch(
      (thrown: unknown) => {
        if (!(thrown instanceof Fault) || thrown.kind !== 'deadline') throw thrown
        // Replace a launcher that hangs: the next request starts a new one.
        launcher.kill()
        throw new Fault('launcher', thrown.message, { cause: thrown })
      },
    )
    if (response['ok'] === true) return response
    throw new Fault(
      `helper-${stringField(response, 'kind') || 'start'}`,
      stringField(response, 'message'),
    )
  }

  /** Stops the launcher; tasks continue. */
  async close(): Promise<void> {
    this.#isClosed = true
    const launcher = await this.#current?.catch(() => undefined)
    await launcher?.end()
  }

  async #ensureRunning(): Promise<LauncherProcess> {
    if (this.#isClosed) throw new Fault('launcher', 'the helper was closed')
    this.#current ??= this.#start()
    const current = this.#current
    try {
      const launcher = await current
      if (!launcher.hasEnded) return launcher
    } catch (thrown) {
      if (this.#current === current) this.#current = undefined
      throw thrown
    }
    if (this.#current === current) this.#current = undefined
    return this.#ensureRunning()
  }

  async #start(): Promise<LauncherProcess> {
    const { program, clock } = this.#options
    const launcher = new LauncherProcess(program, (taskId) => this.#options.onTaskEnded?.(taskId))
    const deadline = { clock, timeoutMs: READY_TIMEOUT_MS, operation: `the start of ${program}` }
    try {
      const pid = await withTimeout(launcher.ready, deadline)
      await this.#options.onStarted?.(pid)
      return launcher
    } catch (thrown) {
      launcher.kill()
      throw new Fault('launcher', `the task helper does not run: ${errorMessage(thrown)}`)
    }
  }
}

/** One process of the launcher. */
class LauncherProcess {
  readonly ready: Promise<number>
  readonly #child: ChildProcess
  readonly #pendingRequests = new Map<number, PendingRequest>()
  readonly #ready = Promise.withResolvers<number>()
  readonly #exited = Promise.withResolvers<void>()
  #nextId = 0
  #hasEnded = false

  constructor(program: string, taskEnded: (taskId: string) => void) {
    this.ready = this.#ready.promise
    // The launcher needs no environment of the agent, and tasks must not see it there.
    const child = spawn(program, ['serve'], {
      env: {},
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#child = child
    child.once('error', (error) => this.#fail(errorMessage(error)))
    child.once('exit', (code, signal) => this.#fail(`it ended with ${signal ?? String(code)}`))
    child.stdin?.on('error', () => undefined)
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on('line', (line) => this.#onLine(line, taskEnded))
    }
    unrefChild(child)
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  request(op: string, fields: Readonly<Record<string, unknown>>): Promise<LauncherResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<LauncherResponse>()
    const id = (this.#nextId += 1)
    this.#pendingRequests.set(id, { resolve, reject })
    this.#child.stdin?.write(`${JSON.stringify({ v: 1, id, op, ...fields })}\n`)
    if (this.#hasEnded) this.#fail('it has ended')
    return promise
  }

  kill(): void {
    this.#child.kill('SIGKILL')
    this.#fail('it was ended')
  }

  /** Stops the process by closing its input. */
  async end(): Promise<void> {
    if (!this.#hasEnded) this.#child.ref()
    this.#child.stdin?.end()
    await this.#exited.promise
  }

  #onLine(line: string, onTaskEnded: (taskId: string) => void): void {
    const message = parseJsonObject(line)
    if (message === undefined) return
    const id = message['id']
    if (typeof id === 'number') {
      this.#pendingRequests.get(id)?.resolve(message)
      this.#pendingRequests.delete(id)
    } else if (message['event'] === 'ready') {
      this.#ready.resolve(Number(message['pid']))
    } else if (message['event'] === 'ended') {
      onTaskEnded(stringField(message, 'task'))
    }
  }

  #fail(reason: string): void {
    this.#hasEnded = true
    const fault = new Fault('launcher', `the task helper is gone: ${reason}`)
    this.#ready.reject(fault)
    this.#ready.promise.catch(() => undefined)
    for (const pending of this.#pendingRequests.values()) pending.reject(fault)
    this.#pendingRequests.clear()
    this.#exited.resolve()
  }
}

/**
 * Does not keep the process alive: when the agent exits, the launcher sees the end of its input.
 */
function unrefChild(child: ChildProcess): void {
  child.unref()
  for (const stream of [child.stdin, child.stdout]) {
    const unref: unknown = stream === null ? undefined : Reflect.get(stream, 'unref')
    if (typeof unref === 'function') Reflect.apply(unref, stream, [])
  }
}

export function parseJsonObject(line: string): LauncherResponse | undefined {
  try {
    const value: unknown = JSON.parse(line)
    // An object from JSON.parse has only its own string keys.
    return typeof value === 'object' && value !== null ? (value as LauncherResponse) : undefined
  } catch {
    return undefined
  }
}

export function stringField(value: LauncherResponse, name: string): string {
  const fieldValue = value[name]
  return typeof fieldValue === 'string' ? fieldValue : ''
}
