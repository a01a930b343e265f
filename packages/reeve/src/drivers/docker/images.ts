import { open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { isMissing } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { DockerConfig } from './docker-config.ts'
import { DOCKER_LIMITS } from './docker-limits.ts'
import type { DockerSettings } from './docker-settings.ts'
import {
  sanitizeExternalText,
  isSuccess,
  tryParseJson,
  errorMessageOf,
  stringAt,
  type EngineClient,
} from './engine.ts'
import { openWithoutReading } from './host-paths.ts'
import { ImagePull, type PullWaiter } from './image-pull.ts'
import { canonicalImageName, type ImageReference } from './image-reference.ts'
import { findLogin } from './registry-logins.ts'

interface ImagePullerOptions {
  readonly engine: EngineClient
  readonly clock: Clock
  /** A file with logins by registry, in the form that the engine's own client writes; or none. */
  readonly authFile: string | undefined
  readonly settings: DockerSettings
}

/** Which image, and how it is had. */
type ImageSource = Pick<DockerConfig, 'image' | 'pull'>

/** Who wants an image, and how long that holds. */
export interface ImageRequest extends Omit<PullWaiter, 'timeoutMs'> {
  readonly taskDir: string
}

/** Sees to it that images are there. A task that wants one that is being fetched waits for that. */
export class ImagePuller {
  readonly #options: ImagePullerOptions
  readonly #pullsInFlight = new Map<string, ImagePull>()

  constructor(options: ImagePullerOptions) {
    this.#options = options
  }

  /**
   * Resolves when the image can be started. Fault `task-unstartable` when there is none of that
   * name or it may not be had, `task-start` for the rest.
   */
  async ensure(config: ImageSource, request: ImageRequest): Promise<void> {
    const { image, pull } = config
    if (pull.load !== undefined) return this.#loadArchive(pull.load, request)
    // A name that moves is looked up each time.
    const hasFixedTag = image.tag !== 'latest'
    if (hasFixedTag && !pull.isForced && (await this.#isPresent(image))) return
    await this.#pullOrJoin(config, request)
  }

  /** The same for an image that was fetched a moment ago, and may have been removed since. */
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

  /** A tar archive among the task's files. */
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
 * Opened first and then asked where it is: a link that is swapped in between changes nothing. Until
 * then nothing is read, because opening a device may act.
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
