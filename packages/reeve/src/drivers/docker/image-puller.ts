import { open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { isMissing, sleep } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { formatDurationNs, nsFromMs } from '@reeve/kit/duration.ts'
import { errorMessage, Fault } from '@reeve/kit/fault.ts'
import type { DockerConfig, RegistryAuth } from './docker-config.ts'
import { DOCKER_LIMITS, type DockerSettings } from './docker-policy.ts'
import {
  sanitizeExternalText,
  isSuccess,
  tryParseJson,
  errorMessageOf,
  stringAt,
  type EngineClient,
  getPath,
  numberAt,
} from './engine-client.ts'
import { openWithoutReading } from './container-mounts.ts'
import { canonicalImageName, type ImageReference } from './image-reference.ts'
import { findLogin, registryAuthHeader } from './registry-logins.ts'

interface ImagePullerOptions {
  readonly engine: EngineClient
  readonly clock: Clock
  /** File with registry logins in the format of the Docker client; undefined for none. */
  readonly authFile: string | undefined
  readonly settings: DockerSettings
}

/** The image and the credentials to pull it. */
type ImageSource = Pick<DockerConfig, 'image' | 'pull'>

/** The task that waits for an image, with its timeout. */
export interface ImageRequest extends Omit<PullWaiter, 'timeoutMs'> {
  readonly taskDir: string
}

/** Pulls images. Tasks that need an image that is being pulled share the pull. */
export class ImagePuller {
  readonly #options: ImagePullerOptions
  readonly #pullsInFlight = new Map<string, ImagePull>()

  constructor(options: ImagePullerOptions) {
    this.#options = options
  }

  /**
   * Resolves when the image is available. Fault `task-unstartable` if it does not exist or access
   * is denied, `task-start` for other errors.
   */
  async ensure(config: ImageSource, request: ImageRequest): Promise<void> {
    const { image, pull } = config
    if (pull.load !== undefined) return this.#loadArchive(pull.load, request)
    // A mutable tag is pulled each time.
    const hasFixedTag = image.tag !== 'latest'
    if (hasFixedTag && !pull.isForced && (await this.#isPresent(image))) return
    await this.#pullOrJoin(config, request)
  }

  /** Like `ensure`, for an image that was pulled before and may have been removed since. */
  async ensurePresent(config: ImageSource, request: ImageRequest): Promise<void> {
    if (config.pull.load !== undefined || (await this.#isPresent(config.image))) return
    await this.#pullOrJoin(config, request)
  }

  async #isPresent(image: ImageReference): Promise<boolean> {
    const path = `/images/${encodeURIComponent(canonicalImageName(image))}/json`
    const response = await this.#options.engine.call({ method: 'GET', path })
    if (response.status === 404) return false
    if (isSuccess(response)) return true
    throw new Fault('task-start', `the engine cannot look for images: ${errorMessageOf(response)}`)
  }

  async #pullOrJoin({ image, pull }: ImageSource, request: ImageRequest): Promise<void> {
    const { engine, clock, authFile, settings } = this.#options
    const key = JSON.stringify([canonicalImageName(image), pull.auth ?? null, pull.isAuthSoft])
    let pullInFlight = this.#pullsInFlight.get(key)
    if (pullInFlight === undefined || pullInFlight.isAbandoned) {
      const taskLogin = pull.auth
      const loginSources = { authFile, helper: settings.authHelper }
      const newPull = new ImagePull({
        engine,
        clock,
        image,
        getLogin: async () => taskLogin ?? (await findLogin(image.registry, loginSources)),
        isAuthSoft: pull.isAuthSoft,
        inactivityTimeoutMs: settings.pullActivityMs,
      })
      this.#pullsInFlight.set(key, newPull)
      void this.#forget(key, newPull)
      pullInFlight = newPull
    }
    await pullInFlight.wait({ ...request, timeoutMs: pull.timeoutMs })
  }

  async #forget(key: string, pull: ImagePull): Promise<void> {
    await pull.finished
    if (this.#pullsInFlight.get(key) === pull) this.#pullsInFlight.delete(key)
  }

  /** Path of a tar archive below the task directory. */
  async #loadArchive(file: string, request: ImageRequest): Promise<void> {
    request.report(`Loading image from ${JSON.stringify(file)}`)
    const archive = await openArchive(file, request.taskDir)
    const response = await this.#options.engine.call({
      method: 'POST',
      path: '/images/load',
      query: { quiet: '1' },
      headers: { 'Content-Type': 'application/x-tar' },
      upload: archive.createReadStream(),
      signal: AbortSignal.any([
        request.signal,
        AbortSignal.timeout(DOCKER_LIMITS.imageLoadTimeoutMs),
      ]),
    })
    const engineError = stringAt(
      tryParseJson(response.body.trim().split('\n').at(-1) ?? ''),
      'error',
    )
    if (isSuccess(response) && engineError === '') return
    const message =
      engineError === '' ? errorMessageOf(response) : sanitizeExternalText(engineError)
    throw new Fault('task-unstartable', `cannot load image ${file}: ${message}`)
  }
}

/**
 * The file is opened before its path is verified, so that a link replaced in between has no effect.
 * Nothing is read before, because reading a device may have side effects.
 */
async function openArchive(file: string, taskDir: string): Promise<FileHandle> {
  const name = JSON.stringify(file)
  const pathHandle = await openWithoutReading(resolve(taskDir, file)).catch((thrown: unknown) => {
    if (!isMissing(thrown)) throw thrown
    throw new Fault('task-unstartable', `load: ${name} is not there`)
  })
  try {
    const openedPath = await readlink(`/proc/self/fd/${pathHandle.fd}`)
    const isInside = openedPath.startsWith(`${await realpath(taskDir)}${sep}`)
    if (isInside && (await pathHandle.stat()).isFile())
      return await open(`/proc/self/fd/${pathHandle.fd}`)
  } finally {
    await pathHandle.close()
  }
  throw new Fault('task-config', `load: ${name} is not a file of the task`)
}

interface ImagePullOptions {
  readonly engine: EngineClient
  readonly clock: Clock
  readonly image: ImageReference
  /** Looked up at the start of the pull, because credential helpers take time. */
  readonly getLogin: () => Promise<RegistryAuth | undefined>
  /** After a rejected login, the pull is retried anonymously. */
  readonly isAuthSoft: boolean
  /** A pull of which nothing is received for this long is given up. */
  readonly inactivityTimeoutMs: number
}

/** A task that waits for a pull. */
interface PullWaiter {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Adds a message to the events of the task. */
  report(message: string): void
}

/**
 * A pull that several tasks may share. Each task has its own timeout; the request to the engine is
 * aborted when the last one has left.
 */
class ImagePull {
  readonly #options: ImagePullOptions
  readonly #abort = new AbortController()
  readonly #outcome: Promise<Fault | undefined>
  #progress = new PullProgress()
  #waiterCount = 0

  constructor(options: ImagePullOptions) {
    this.#options = options
    this.#outcome = this.#pullWithFallback()
  }

  /** True if no task waits for it: the next one starts a new pull. */
  get isAbandoned(): boolean {
    return this.#abort.signal.aborted
  }

  /** Settles when the pull has ended. Never rejects. */
  get finished(): Promise<unknown> {
    return this.#outcome
  }

  /** Waits for the pull. Rejects if it fails or the timeout of this task passes. */
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

  /** Resolves when the timeout of this task has passed or its signal is aborted. */
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

  /**
   * Converts a failed pull to a Fault; `task-unstartable` if the image does not exist or access is
   * denied.
   */
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

/** Aborts its signal after a time without activity. */
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

  /** Uses one timer, however often `touch` is called. */
  #check(): void {
    const remainingMs = this.#lastActivityMs + this.#idleMs - this.#clock.nowMs()
    if (remainingMs <= 0) this.#controller.abort()
    else this.#cancel = this.#clock.after(remainingMs, () => this.#check())
  }
}

interface LayerProgress {
  readonly received: number
  readonly total: number
  readonly isDone: boolean
}

/** Parses the progress lines of a pull. Its memory is bounded, whatever the registry sends. */
export class PullProgress {
  readonly #layers = new Map<string, LayerProgress>()
  #error = ''
  #lastLine = ''
  #partialLine = ''
  #isSkippingLine = false

  /** The engine responds with 200 before it starts; errors are in the lines that follow. */
  get error(): string {
    return this.#error
  }

  /** The last line, for engines that report errors in no other way. */
  get lastLine(): string {
    return this.#lastLine
  }

  read(piece: string): void {
    const lines = (this.#partialLine + piece).split('\n')
    this.#partialLine = lines.pop() ?? ''
    for (const line of lines) {
      if (!this.#isSkippingLine) this.#parseLine(line)
      this.#isSkippingLine = false
    }
    if (this.#partialLine.length <= DOCKER_LIMITS.progressLineCharsMax) return
    this.#partialLine = ''
    this.#isSkippingLine = true
  }

  finish(): void {
    if (!this.#isSkippingLine) this.#parseLine(this.#partialLine)
    this.#partialLine = ''
  }

  #parseLine(line: string): void {
    if (line.trim() === '' || line.length > DOCKER_LIMITS.progressLineCharsMax) return
    this.#lastLine = line
    const entry = tryParseJson(line)
    this.#error =
      stringAt(entry, 'error') || stringAt(entry, 'errorDetail', 'message') || this.#error
    const id = stringAt(entry, 'id')
    const status = stringAt(entry, 'status')
    const state = LAYER_STATES[status]
    if (id === '' || state === undefined) return
    if (!this.#layers.has(id) && this.#layers.size >= DOCKER_LIMITS.layersMax) return
    this.#layers.set(id, nextLayer(this.#layers.get(id) ?? NEW_LAYER, state, entry))
  }

  /** Formats the progress, such as `3 of 7 layers, 45 MiB of 120 MiB`; empty if it is unknown. */
  summary(): string {
    const layers = [...this.#layers.values()]
    if (layers.length === 0) return ''
    const doneCount = layers.filter(({ isDone }) => isDone).length
    const received = layers.reduce((sum, layer) => sum + layer.received, 0)
    const total = layers.reduce((sum, layer) => sum + layer.total, 0)
    const size = total === 0 ? '' : `, ${formatMiB(received)} of ${formatMiB(total)}`
    return `${doneCount} of ${layers.length} layers${size}`
  }
}

const NEW_LAYER: LayerProgress = { received: 0, total: 0, isDone: false }

/** Phases of a layer by status text of the engine. */
const LAYER_STATES: Readonly<Record<string, 'known' | 'downloading' | 'done'>> = {
  'Pulling fs layer': 'known',
  Waiting: 'known',
  Downloading: 'downloading',
  'Verifying Checksum': 'known',
  'Download complete': 'done',
  'Pull complete': 'done',
  'Already exists': 'done',
}

function nextLayer(
  layer: LayerProgress,
  state: 'known' | 'downloading' | 'done',
  entry: unknown,
): LayerProgress {
  if (state === 'known') return layer
  if (state === 'done') return { ...layer, received: layer.total, isDone: true }
  const detail = getPath(entry, 'progressDetail')
  const total = Math.max(layer.total, numberAt(detail, 'total'))
  return { ...layer, received: Math.min(numberAt(detail, 'current'), total), total }
}

const BYTES_PER_MIB = 1024 * 1024

function formatMiB(bytes: number): string {
  const size = bytes / BYTES_PER_MIB
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} MiB`
}
