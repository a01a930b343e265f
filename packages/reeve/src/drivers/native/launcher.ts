import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { withDeadline } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** How long the launcher may take to say that it is ready. */
const READY_MS_MAX = 10_000

/** How long an answer may take where the caller does not say. */
const ANSWER_MS_MAX = 30_000

export type LauncherAnswer = Readonly<Record<string, unknown>>

interface Waiting {
  resolve(answer: LauncherAnswer): void
  reject(fault: Fault): void
}

interface LauncherOptions {
  /** The helper's program file. */
  readonly program: string
  readonly clock: Clock
  /** Told after each start of a launcher, with its process number, before it is asked anything. */
  began?(pid: number): Promise<void>
  /** The shim of this task is gone. */
  ended?(taskId: string): void
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
   * Asks one thing. What the helper refuses is a Fault of the kind `helper-<kind>`; a launcher that
   * died or is silent one of the kind `launcher`, after which nobody knows whether it was done.
   */
  async ask(
    op: string,
    fields: Readonly<Record<string, unknown>> = {},
    timeoutMs: number = ANSWER_MS_MAX,
  ): Promise<LauncherAnswer> {
    const launcher = await this.#running()
    const deadline = { clock: this.#options.clock, ms: timeoutMs, what: `the helper's ${op}` }
    const answer = await withDeadline(launcher.ask(op, fields), deadline).catch(
      (thrown: unknown) => {
        if (!(thrown instanceof Fault) || thrown.kind !== 'deadline') throw thrown
        // A launcher that hangs helps nobody: the next question gets a new one.
        launcher.kill()
        throw new Fault('launcher', thrown.message, { cause: thrown })
      },
    )
    if (answer['ok'] === true) return answer
    throw new Fault(`helper-${text(answer, 'kind') || 'start'}`, text(answer, 'message'))
  }

  /** Ends the launcher; tasks go on. */
  async close(): Promise<void> {
    this.#isClosed = true
    const launcher = await this.#current?.catch(() => undefined)
    await launcher?.end()
  }

  async #running(): Promise<LauncherProcess> {
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
    return this.#running()
  }

  async #start(): Promise<LauncherProcess> {
    const { program, clock } = this.#options
    const launcher = new LauncherProcess(program, (taskId) => this.#options.ended?.(taskId))
    const deadline = { clock, ms: READY_MS_MAX, what: `the start of ${program}` }
    try {
      const pid = await withDeadline(launcher.ready, deadline)
      await this.#options.began?.(pid)
      return launcher
    } catch (thrown) {
      launcher.kill()
      throw new Fault('launcher', `the task helper does not run: ${errorMessage(thrown)}`)
    }
  }
}

/** One life of the launcher. */
class LauncherProcess {
  readonly ready: Promise<number>
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  readonly #ready = Promise.withResolvers<number>()
  readonly #over = Promise.withResolvers<void>()
  #nextId = 0
  #hasEnded = false

  constructor(program: string, taskEnded: (taskId: string) => void) {
    this.ready = this.#ready.promise
    // The launcher needs nothing of the agent's environment, and no task may see it there.
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
      createInterface({ input: child.stdout }).on('line', (line) => this.#hear(line, taskEnded))
    }
    letGo(child)
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  ask(op: string, fields: Readonly<Record<string, unknown>>): Promise<LauncherAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<LauncherAnswer>()
    const id = (this.#nextId += 1)
    this.#waiting.set(id, { resolve, reject })
    this.#child.stdin?.write(`${JSON.stringify({ v: 1, id, op, ...fields })}\n`)
    if (this.#hasEnded) this.#fail('it has ended')
    return promise
  }

  kill(): void {
    this.#child.kill('SIGKILL')
    this.#fail('it was ended')
  }

  /** The end of its input is its end. */
  async end(): Promise<void> {
    if (!this.#hasEnded) this.#child.ref()
    this.#child.stdin?.end()
    await this.#over.promise
  }

  #hear(line: string, taskEnded: (taskId: string) => void): void {
    const message = parseObject(line)
    if (message === undefined) return
    const id = message['id']
    if (typeof id === 'number') {
      this.#waiting.get(id)?.resolve(message)
      this.#waiting.delete(id)
    } else if (message['event'] === 'ready') {
      this.#ready.resolve(Number(message['pid']))
    } else if (message['event'] === 'ended') {
      taskEnded(text(message, 'task'))
    }
  }

  #fail(why: string): void {
    this.#hasEnded = true
    const fault = new Fault('launcher', `the task helper is gone: ${why}`)
    this.#ready.reject(fault)
    this.#ready.promise.catch(() => undefined)
    for (const waiting of this.#waiting.values()) waiting.reject(fault)
    this.#waiting.clear()
    this.#over.resolve()
  }
}

/** An agent that has nothing else to do may end: the launcher then sees the end of its input. */
function letGo(child: ChildProcess): void {
  child.unref()
  for (const stream of [child.stdin, child.stdout]) {
    const unref: unknown = stream === null ? undefined : Reflect.get(stream, 'unref')
    if (typeof unref === 'function') Reflect.apply(unref, stream, [])
  }
}

export function parseObject(textLine: string): LauncherAnswer | undefined {
  try {
    const value: unknown = JSON.parse(textLine)
    // An object that JSON.parse made has only its own string keys.
    return typeof value === 'object' && value !== null ? (value as LauncherAnswer) : undefined
  } catch {
    return undefined
  }
}

export function text(value: LauncherAnswer, name: string): string {
  const found = value[name]
  return typeof found === 'string' ? found : ''
}
