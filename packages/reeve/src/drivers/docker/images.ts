import { open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { isMissing } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { DockerConfig } from './docker-config.ts'
import { DOCKER_LIMITS } from './docker-limits.ts'
import type { DockerSettings } from './docker-settings.ts'
import { foreignText, isSuccess, parsed, refusalText, textAt, type Engine } from './engine.ts'
import { openPath } from './host-paths.ts'
import { ImagePull, type PullWaiter } from './image-pull.ts'
import { localName, type ImageReference } from './image-reference.ts'
import { findLogin } from './registry-logins.ts'

interface ImagesOptions {
  readonly engine: Engine
  readonly clock: Clock
  /** A file with logins by registry, in the form that the engine's own client writes; or none. */
  readonly authFile: string | undefined
  readonly settings: DockerSettings
}

/** Which image, and how it is had. */
type ImageSource = Pick<DockerConfig, 'image' | 'pull'>

/** Who wants an image, and how long that holds. */
export interface ImageWish extends Omit<PullWaiter, 'timeoutMs'> {
  readonly taskDir: string
}

/** Sees to it that images are there. A task that wants one that is being fetched waits for that. */
export class Images {
  readonly #options: ImagesOptions
  readonly #pulls = new Map<string, ImagePull>()

  constructor(options: ImagesOptions) {
    this.#options = options
  }

  /**
   * Resolves when the image can be started. Fault `task-unstartable` when there is none of that
   * name or it may not be had, `task-start` for the rest.
   */
  async ensure(config: ImageSource, wish: ImageWish): Promise<void> {
    const { image, pull } = config
    if (pull.load !== undefined) return this.#load(pull.load, wish)
    // A name that moves is looked up each time.
    const isFixed = image.tag !== 'latest'
    if (isFixed && !pull.isForced && (await this.#isHere(image))) return
    await this.#pull(config, wish)
  }

  /** The same for an image that was fetched a moment ago, and may have been removed since. */
  async ensureStill(config: ImageSource, wish: ImageWish): Promise<void> {
    if (config.pull.load !== undefined || (await this.#isHere(config.image))) return
    await this.#pull(config, wish)
  }

  async #isHere(image: ImageReference): Promise<boolean> {
    const path = `/images/${encodeURIComponent(localName(image))}/json`
    const answer = await this.#options.engine.call({ method: 'GET', path })
    if (answer.status === 404) return false
    if (isSuccess(answer)) return true
    throw new Fault('task-start', `the engine cannot look for images: ${refusalText(answer)}`)
  }

  async #pull({ image, pull }: ImageSource, wish: ImageWish): Promise<void> {
    const { engine, clock, authFile, settings } = this.#options
    const key = JSON.stringify([localName(image), pull.auth ?? null, pull.isAuthSoft])
    let work = this.#pulls.get(key)
    if (work === undefined || work.isAbandoned) {
      const own = pull.auth
      const sources = { authFile, helper: settings.authHelper }
      const begun = new ImagePull({
        engine,
        clock,
        image,
        login: async () => own ?? (await findLogin(image.registry, sources)),
        isAuthSoft: pull.isAuthSoft,
        activityMs: settings.pullActivityMs,
      })
      this.#pulls.set(key, begun)
      void this.#forget(key, begun)
      work = begun
    }
    await work.wait({ ...wish, timeoutMs: pull.timeoutMs })
  }

  async #forget(key: string, pull: ImagePull): Promise<void> {
    await pull.ended
    if (this.#pulls.get(key) === pull) this.#pulls.delete(key)
  }

  /** A tar archive among the task's files. */
  async #load(file: string, wish: ImageWish): Promise<void> {
    wish.report(`Loading image from ${JSON.stringify(file)}`)
    const archive = await openArchive(file, wish.taskDir)
    const answer = await this.#options.engine.call({
      method: 'POST',
      path: '/images/load',
      query: { quiet: '1' },
      headers: { 'Content-Type': 'application/x-tar' },
      upload: archive.createReadStream(),
      signal: AbortSignal.any([wish.signal, AbortSignal.timeout(DOCKER_LIMITS.loadMsMax)]),
    })
    const failed = textAt(parsed(answer.text.trim().split('\n').at(-1) ?? ''), 'error')
    if (isSuccess(answer) && failed === '') return
    const text = failed === '' ? refusalText(answer) : foreignText(failed)
    throw new Fault('task-unstartable', `cannot load image ${file}: ${text}`)
  }
}

/**
 * Opened first and then asked where it is: a link that is swapped in between changes nothing. Until
 * then nothing is read, because opening a device may act.
 */
async function openArchive(file: string, taskDir: string): Promise<FileHandle> {
  const name = JSON.stringify(file)
  const found = await openPath(resolve(taskDir, file)).catch((thrown: unknown) => {
    if (!isMissing(thrown)) throw thrown
    throw new Fault('task-unstartable', `load: ${name} is not there`)
  })
  try {
    const real = await readlink(`/proc/self/fd/${found.fd}`)
    const isInside = real.startsWith(`${await realpath(taskDir)}${sep}`)
    if (isInside && (await found.stat()).isFile()) return await open(`/proc/self/fd/${found.fd}`)
  } finally {
    await found.close()
  }
  throw new Fault('task-config', `load: ${name} is not a file of the task`)
}
