import { sleep } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { formatDurationNs, nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { RegistryAuth } from './docker-config.ts'
import { DOCKER_LIMITS } from './docker-limits.ts'
import { sanitizeExternalText, errorMessageOf, type EngineClient } from './engine.ts'
import { canonicalImageName, type ImageReference } from './image-reference.ts'
import { PullProgress } from './pull-progress.ts'
import { registryAuthHeader } from './registry-logins.ts'

interface ImagePullOptions {
  readonly engine: EngineClient
  readonly clock: Clock
  readonly image: ImageReference
  /** Found when the pull begins: credential helpers take a while. */
  readonly getLogin: () => Promise<RegistryAuth | undefined>
  /** A refused login is followed by a try without one. */
  readonly isAuthSoft: boolean
  /** A pull of which nothing is received for this long is given up. */
  readonly inactivityTimeoutMs: number
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
  readonly #options: ImagePullOptions
  readonly #abort = new AbortController()
  readonly #outcome: Promise<Fault | undefined>
  #progress = new PullProgress()
  #waiterCount = 0

  constructor(options: ImagePullOptions) {
    this.#options = options
    this.#outcome = this.#pullWithFallback()
  }

  /** Whether no task waits for it any more: the next one begins another pull. */
  get isAbandoned(): boolean {
    return this.#abort.signal.aborted
  }

  /** Settles when the pull is over. Never rejects. */
  get finished(): Promise<unknown> {
    return this.#outcome
  }

  /** Rejects with why the image cannot be had, or not in the time that this task gives it. */
  async wait(waiter: PullWaiter): Promise<void> {
    this.#waiterCount += 1
    const stopReporting = new AbortController()
    try {
      void this.#reportProgress(waiter, stopReporting.signal)
      const ended = this.#outcome.then((fault) => fault ?? PULLED)
      const outcome = await Promise.race([ended, this.#awaitTimeout(waiter, stopReporting.signal)])
      if (outcome !== PULLED) throw outcome
    } finally {
      stopReporting.abort()
      this.#waiterCount -= 1
      if (this.#waiterCount === 0) this.#abort.abort()
    }
  }

  /** Resolves when the time of this task is over, or its signal fires. */
  async #awaitTimeout({ timeoutMs, signal }: PullWaiter, stopped: AbortSignal): Promise<Fault> {
    const passed = await sleep(this.#options.clock, timeoutMs, AbortSignal.any([signal, stopped]))
    if (!passed) return this.#pullFault('it was interrupted')
    const limit = formatDurationNs(nsFromMs(timeoutMs))
    const summary = this.#progress.summary()
    const progress = summary === '' ? '' : ` (${summary})`
    return this.#pullFault(`it took longer than ${limit}${progress}; raise image_pull_timeout`)
  }

  async #reportProgress(waiter: PullWaiter, stopped: AbortSignal): Promise<void> {
    const name = canonicalImageName(this.#options.image)
    waiter.report(`Downloading image ${name}`)
    let delayMs: number = DOCKER_LIMITS.pullReportInitialDelayMs
    while (await sleep(this.#options.clock, delayMs, stopped)) {
      const summary = this.#progress.summary()
      waiter.report(`Downloading image ${name}${summary === '' ? '' : `: ${summary}`}`)
      delayMs = Math.min(2 * delayMs, DOCKER_LIMITS.pullReportMaxDelayMs)
    }
  }

  async #pullWithFallback(): Promise<Fault | undefined> {
    const { getLogin, isAuthSoft } = this.#options
    try {
      const auth = await getLogin()
      const fault = await this.#pullOnce(auth)
      const retriesAnonymously = fault !== undefined && auth !== undefined && isAuthSoft
      return retriesAnonymously ? await this.#pullOnce(undefined) : fault
    } catch (thrown) {
      return thrown instanceof Fault ? thrown : this.#pullFault(errorMessage(thrown), thrown)
    }
  }

  async #pullOnce(auth: RegistryAuth | undefined): Promise<Fault | undefined> {
    const { engine, clock, image, inactivityTimeoutMs } = this.#options
    const { repository, tag, digest, registry } = image
    const progress = new PullProgress()
    this.#progress = progress
    const idleTimer = new IdleTimer(clock, inactivityTimeoutMs)
    try {
      const response = await engine.openStream({
        method: 'POST',
        path: '/images/create',
        query:
          digest === '' ? { fromImage: repository, tag } : { fromImage: canonicalImageName(image) },
        headers:
          auth === undefined ? {} : { 'X-Registry-Auth': registryAuthHeader(auth, registry) },
        signal: AbortSignal.any([this.#abort.signal, idleTimer.signal]),
      })
      for await (const chunk of response.setEncoding('utf8')) {
        idleTimer.reset()
        progress.read(String(chunk))
      }
      progress.finish()
      const status = response.statusCode ?? 0
      if (status >= 200 && status < 300 && progress.error === '') return undefined
      const message = progress.error || errorMessageOf({ status, body: progress.lastLine })
      return this.#refusedFault(message, status)
    } catch (thrown) {
      const limit = formatDurationNs(nsFromMs(inactivityTimeoutMs))
      const message = idleTimer.signal.aborted
        ? `nothing was received for ${limit} (pull_activity_timeout)`
        : errorMessage(thrown)
      return this.#pullFault(message, thrown)
    } finally {
      idleTimer.stop()
    }
  }

  /** Final when the registry has no such image, or denies it to this login. */
  #refusedFault(message: string, status: number): Fault {
    const isFinal =
      status === 404 || /not found|denied|unauthorized|manifest unknown/i.test(message)
    const name = canonicalImageName(this.#options.image)
    const kind = isFinal ? 'task-unstartable' : 'task-start'
    return new Fault(kind, `cannot fetch image ${name}: ${sanitizeExternalText(message)}`)
  }

  #pullFault(message: string, cause?: unknown): Fault {
    const name = canonicalImageName(this.#options.image)
    return new Fault('task-start', `cannot fetch image ${name}: ${message}`, { cause })
  }
}

const PULLED = Symbol('done')

/** Aborts its signal when nothing happened for a while. */
class IdleTimer {
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #controller = new AbortController()
  #lastActivityMs: number
  #cancel: () => void

  constructor(clock: Clock, idleMs: number) {
    this.#clock = clock
    this.#idleMs = idleMs
    this.#lastActivityMs = clock.nowMs()
    this.#cancel = clock.after(idleMs, () => this.#check())
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  reset(): void {
    this.#lastActivityMs = this.#clock.nowMs()
  }

  stop(): void {
    this.#cancel()
  }

  /** One timer for any number of touches. */
  #check(): void {
    const remainingMs = this.#lastActivityMs + this.#idleMs - this.#clock.nowMs()
    if (remainingMs <= 0) this.#controller.abort()
    else this.#cancel = this.#clock.after(remainingMs, () => this.#check())
  }
}
