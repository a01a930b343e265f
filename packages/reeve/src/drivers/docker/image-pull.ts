import { pause } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { formatDurationNs, nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { RegistryAuth } from './docker-config.ts'
import { DOCKER_LIMITS } from './docker-limits.ts'
import { foreignText, refusalText, type Engine } from './engine.ts'
import { localName, type ImageReference } from './image-reference.ts'
import { PullProgress } from './pull-progress.ts'
import { authHeader } from './registry-logins.ts'

interface PullOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly image: ImageReference
  /** Found when the pull begins: credential helpers take a while. */
  readonly login: () => Promise<RegistryAuth | undefined>
  /** A refused login is followed by a try without one. */
  readonly isAuthSoft: boolean
  /** A pull of which nothing is received for this long is given up. */
  readonly activityMs: number
}

/** One of the tasks that wait for a pull. */
export interface PullWaiter {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** A sentence for the events of the task. */
  report(message: string): void
}

/**
 * One pull for every task that waits for the image. Each task has its own timeout; the request to
 * the engine is aborted when the last of them has left.
 */
export class ImagePull {
  readonly #options: PullOptions
  readonly #stop = new AbortController()
  readonly #outcome: Promise<Fault | undefined>
  #progress = new PullProgress()
  #waiters = 0

  constructor(options: PullOptions) {
    this.#options = options
    this.#outcome = this.#pull()
  }

  /** Whether no task waits for it any more: the next one begins another pull. */
  get isAbandoned(): boolean {
    return this.#stop.signal.aborted
  }

  /** Settles when the pull is over. Never rejects. */
  get ended(): Promise<unknown> {
    return this.#outcome
  }

  /** Rejects with why the image cannot be had, or not in the time that this task gives it. */
  async wait(waiter: PullWaiter): Promise<void> {
    this.#waiters += 1
    const over = new AbortController()
    try {
      void this.#report(waiter, over.signal)
      const ended = this.#outcome.then((trouble) => trouble ?? DONE)
      const verdict = await Promise.race([ended, this.#late(waiter, over.signal)])
      if (verdict !== DONE) throw verdict
    } finally {
      over.abort()
      this.#waiters -= 1
      if (this.#waiters === 0) this.#stop.abort()
    }
  }

  /** Resolves when the time of this task is over, or its signal fires. */
  async #late({ timeoutMs, signal }: PullWaiter, over: AbortSignal): Promise<Fault> {
    const passed = await pause(this.#options.clock, timeoutMs, AbortSignal.any([signal, over]))
    if (!passed) return this.#fault('it was interrupted')
    const limit = formatDurationNs(nsFromMs(timeoutMs))
    const summary = this.#progress.summary()
    const progress = summary === '' ? '' : ` (${summary})`
    return this.#fault(`it took longer than ${limit}${progress}; raise image_pull_timeout`)
  }

  async #report(waiter: PullWaiter, over: AbortSignal): Promise<void> {
    const name = localName(this.#options.image)
    waiter.report(`Downloading image ${name}`)
    let pauseMs: number = DOCKER_LIMITS.pullReportMsFirst
    while (await pause(this.#options.clock, pauseMs, over)) {
      const summary = this.#progress.summary()
      waiter.report(`Downloading image ${name}${summary === '' ? '' : `: ${summary}`}`)
      pauseMs = Math.min(2 * pauseMs, DOCKER_LIMITS.pullReportMsMax)
    }
  }

  async #pull(): Promise<Fault | undefined> {
    const { login, isAuthSoft } = this.#options
    try {
      const auth = await login()
      const trouble = await this.#try(auth)
      const isSecondTry = trouble !== undefined && auth !== undefined && isAuthSoft
      return isSecondTry ? await this.#try(undefined) : trouble
    } catch (thrown) {
      return thrown instanceof Fault ? thrown : this.#fault(errorMessage(thrown), thrown)
    }
  }

  async #try(auth: RegistryAuth | undefined): Promise<Fault | undefined> {
    const { engine, clock, image, activityMs } = this.#options
    const { repository, tag, digest, registry } = image
    const progress = new PullProgress()
    this.#progress = progress
    const idle = new IdleTimer(clock, activityMs)
    try {
      const response = await engine.open({
        method: 'POST',
        path: '/images/create',
        query: digest === '' ? { fromImage: repository, tag } : { fromImage: localName(image) },
        headers: auth === undefined ? {} : { 'X-Registry-Auth': authHeader(auth, registry) },
        signal: AbortSignal.any([this.#stop.signal, idle.signal]),
      })
      for await (const piece of response.setEncoding('utf8')) {
        idle.touch()
        progress.read(String(piece))
      }
      progress.end()
      const status = response.statusCode ?? 0
      if (status >= 200 && status < 300 && progress.error === '') return undefined
      const text = progress.error || refusalText({ status, text: progress.last })
      return this.#refused(text, status)
    } catch (thrown) {
      const limit = formatDurationNs(nsFromMs(activityMs))
      const text = idle.signal.aborted
        ? `nothing was received for ${limit} (pull_activity_timeout)`
        : errorMessage(thrown)
      return this.#fault(text, thrown)
    } finally {
      idle.stop()
    }
  }

  /** Final when the registry has no such image, or denies it to this login. */
  #refused(text: string, status: number): Fault {
    const isFinal = status === 404 || /not found|denied|unauthorized|manifest unknown/i.test(text)
    const name = localName(this.#options.image)
    const kind = isFinal ? 'task-unstartable' : 'task-start'
    return new Fault(kind, `cannot fetch image ${name}: ${foreignText(text)}`)
  }

  #fault(text: string, cause?: unknown): Fault {
    const name = localName(this.#options.image)
    return new Fault('task-start', `cannot fetch image ${name}: ${text}`, { cause })
  }
}

const DONE = Symbol('done')

/** Aborts its signal when nothing happened for a while. */
class IdleTimer {
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #controller = new AbortController()
  #touchedMs: number
  #cancel: () => void

  constructor(clock: Clock, idleMs: number) {
    this.#clock = clock
    this.#idleMs = idleMs
    this.#touchedMs = clock.nowMs()
    this.#cancel = clock.after(idleMs, () => this.#check())
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  touch(): void {
    this.#touchedMs = this.#clock.nowMs()
  }

  stop(): void {
    this.#cancel()
  }

  /** One timer for any number of touches. */
  #check(): void {
    const leftMs = this.#touchedMs + this.#idleMs - this.#clock.nowMs()
    if (leftMs <= 0) this.#controller.abort()
    else this.#cancel = this.#clock.after(leftMs, () => this.#check())
  }
}
