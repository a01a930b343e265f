import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isMissing, type LiveTasks } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LABEL, NETWORK_LABEL, HANDLE_LABEL } from './container-spec.ts'
import type { DockerGc } from './docker-policy.ts'
import {
  isSuccess,
  getPath,
  tryParseJson,
  errorMessageOf,
  stringAt,
  type EngineClient,
  numberAt,
} from './engine-client.ts'
import { canonicalImageName, parseImageReference } from './image-reference.ts'

/** An image that a task of this agent ran from. */
interface UsedImage {
  /** Names by which tasks refer to the image, in the format of the engine. */
  readonly names: readonly string[]
  /** Time since which nothing uses the image; null while it is used. */
  readonly unusedSinceMs: number | null
}

type UsedImages = Readonly<Record<string, UsedImage>>

interface ImageCollectorOptions {
  readonly engine: EngineClient
  readonly clock: Clock
  readonly gc: Pick<DockerGc, 'removesImages' | 'imageDelayMs'>
  /** File that persists the images; undefined: only in memory. */
  readonly file: string | undefined
}

interface ImagesInUse {
  /** Lists the image IDs of all containers of the engine. */
  readonly containerImageIds: ReadonlySet<string>
  /** Lists the `image` settings of all tasks that run or may still start. */
  readonly taskImageNames: readonly string[]
}

/**
 * Removes images that tasks of this agent used, some time after the last use. Images that no task
 * has used are never removed.
 */
export class ImageCollector {
  readonly #options: ImageCollectorOptions
  #images: Record<string, UsedImage> | undefined
  /** Number of starts in progress by image name. */
  readonly #startsByImageName = new Map<string, number>()
  /** Settles when the current removal has ended. */
  #currentRemoval: Promise<unknown> = Promise.resolve()
  #lastSave: Promise<void> = Promise.resolve()

  constructor(options: ImageCollectorOptions) {
    this.#options = options
  }

  /** Keeps the image from being removed until the returned function is called. */
  async hold(name: string): Promise<() => void> {
    this.#startsByImageName.set(name, (this.#startsByImageName.get(name) ?? 0) + 1)
    // An image that is being removed now is pulled again afterwards.
    await this.#currentRemoval
    return () => {
      const remaining = (this.#startsByImageName.get(name) ?? 1) - 1
      if (remaining > 0) this.#startsByImageName.set(name, remaining)
      else this.#startsByImageName.delete(name)
    }
  }

  /** Records that a task is about to start with this image. Durable when it resolves. */
  async recordUse(name: string): Promise<void> {
    if (!this.#options.gc.removesImages) return
    const id = await this.#findImageId(name)
    if (id === undefined) return
    const images = await this.#load()
    const knownImage = images[id]
    if (knownImage?.names.includes(name) === true && knownImage.unusedSinceMs === null) return
    for (const [other, image] of Object.entries(images)) {
      // The name refers to another image now.
      const names = image.names.filter((candidate) => candidate !== name)
      images[other] = { ...image, names }
    }
    const names = [...(images[id]?.names ?? []), name]
    images[id] = { names, unusedSinceMs: null }
    await this.#save(images)
  }

  /** Removes unused images and returns their names. */
  async collect(imagesInUse: ImagesInUse): Promise<readonly string[]> {
    if (!this.#options.gc.removesImages) return []
    const images = await this.#load()
    const before = JSON.stringify(images)
    const removed: string[] = []
    for (const id of Object.keys(images)) {
      const image = images[id]
      if (image === undefined) continue
      const isInUse = imagesInUse.containerImageIds.has(id) || this.#isInUse(image, imagesInUse)
      const updated = this.#updateUnusedSince(image, isInUse)
      images[id] = updated
      if (!this.#isRemovalDue(updated)) continue
      if (!(await this.#removeImage(id, updated))) continue
      delete images[id]
      removed.push(updated.names[0] ?? id)
    }
    if (JSON.stringify(images) !== before) await this.#save(images)
    return removed
  }

  #isInUse({ names }: UsedImage, { taskImageNames }: ImagesInUse): boolean {
    return names.some((name) => {
      return (
        this.#startsByImageName.has(name) ||
        taskImageNames.some((wanted) => mayMatchImage(wanted, name))
      )
    })
  }

  #updateUnusedSince(image: UsedImage, isNeeded: boolean): UsedImage {
    if (isNeeded) return { ...image, unusedSinceMs: null }
    const nowMs = this.#options.clock.nowMs()
    // The clock may have been set back since.
    return { ...image, unusedSinceMs: Math.min(image.unusedSinceMs ?? nowMs, nowMs) }
  }

  #isRemovalDue({ unusedSinceMs }: UsedImage): boolean {
    const { clock, gc } = this.#options
    return unusedSinceMs !== null && clock.nowMs() - unusedSinceMs >= gc.imageDelayMs
  }

  /** Removes one image. True if the driver no longer tracks it. */
  #removeImage(id: string, image: UsedImage): Promise<boolean> {
    const removed = this.#removeNames(id, image)
    this.#currentRemoval = removed.catch(() => undefined)
    return removed
  }

  async #removeNames(id: string, { names }: UsedImage): Promise<boolean> {
    for (const name of names) {
      if ((await this.#findImageId(name)) !== id) continue
      if (!(await this.#deleteFromEngine(name))) return false
    }
    const inspected = await this.#inspect(id)
    if (inspected === undefined) return true
    // Another user has tagged the image and now owns it.
    const tags = getPath(inspected, 'RepoTags')
    return Array.isArray(tags) && tags.length > 0 ? true : this.#deleteFromEngine(id)
  }

  /** Removes a name. False if the engine reports that the image is in use. */
  async #deleteFromEngine(nameOrId: string): Promise<boolean> {
    const path = `/images/${encodeURIComponent(nameOrId)}`
    const response = await this.#options.engine.call({ method: 'DELETE', path })
    if (isSuccess(response) || response.status === 404) return true
    if (response.status === 409) return false
    throw new Fault('engine', `image ${nameOrId} cannot be removed: ${errorMessageOf(response)}`)
  }

  async #findImageId(name: string): Promise<string | undefined> {
    const id = withoutHashPrefix(stringAt(await this.#inspect(name), 'Id'))
    return id === '' ? undefined : id
  }

  async #inspect(nameOrId: string): Promise<unknown> {
    const path = `/images/${encodeURIComponent(nameOrId)}/json`
    const response = await this.#options.engine.call({ method: 'GET', path })
    if (response.status === 404) return undefined
    if (isSuccess(response)) return tryParseJson(response.body)
    throw new Fault('engine', `the engine cannot look for images: ${errorMessageOf(response)}`)
  }

  async #load(): Promise<Record<string, UsedImage>> {
    this.#images ??= { ...(await readUsedImages(this.#options.file)) }
    return this.#images
  }

  /**
   * Writes the list, one write at a time. If that fails, images are removed later, but no start
   * fails.
   */
  #save(images: UsedImages): Promise<void> {
    const { file } = this.#options
    if (file === undefined) return Promise.resolve()
    this.#lastSave = this.#lastSave.then(() => writeUsedImages(file, images)).catch(() => undefined)
    return this.#lastSave
  }
}

async function writeUsedImages(file: string, images: UsedImages): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(`${file}.tmp`, JSON.stringify(images), { mode: 0o600 })
  await rename(`${file}.tmp`, file)
}

async function readUsedImages(file: string | undefined): Promise<UsedImages> {
  if (file === undefined) return {}
  try {
    // Written by `#save`; the directory is the agent's own.
    return JSON.parse(await readFile(file, 'utf8')) as UsedImages
  } catch (thrown) {
    // An unreadable list only delays the removal of images: it starts empty.
    if (isMissing(thrown) || thrown instanceof SyntaxError) return {}
    throw thrown
  }
}

/**
 * Reports whether a task with this `image` setting may use the image that the engine has under the
 * given name. References are only resolved when the task starts, so they match any text.
 */
export function mayMatchImage(imagePattern: string, name: string): boolean {
  const [prefix = '', ...rest] = imagePattern.split(/\$\{[^}]*\}/)
  const suffix = rest.pop()
  if (suffix === undefined) return canonicalNameOf(imagePattern) === name
  if (!name.startsWith(prefix)) return false
  let position = prefix.length
  for (const part of rest) {
    const found = name.indexOf(part, position)
    if (found < 0) return false
    position = found + part.length
  }
  const tail = name.slice(position)
  return tail.endsWith(suffix) || tail.endsWith(`${suffix}:latest`)
}

function canonicalNameOf(image: string): string {
  try {
    return canonicalImageName(parseImageReference(image))
  } catch {
    // An invalid image name: the task cannot start.
    return image
  }
}

/** A container in the list of the engine. */
export interface ListedContainer {
  readonly id: string
  readonly imageId: string
  readonly createdMs: number
  readonly isRunning: boolean
  /** Handle ID; empty if it is no task. */
  readonly handleId: string
  /** Allocation whose network the container holds; empty if none. */
  readonly networkAllocationId: string
  readonly agentId: string
}

/** All containers of the engine, in any state, of any owner. */
export async function listContainers(engine: EngineClient): Promise<readonly ListedContainer[]> {
  const path = '/containers/json'
  const response = await engine.call({ method: 'GET', path, query: { all: 'true' } })
  if (!isSuccess(response)) throw new Fault('engine', errorMessageOf(response))
  const list = tryParseJson(response.body)
  if (!Array.isArray(list)) throw new Fault('engine', 'the list of containers cannot be read')
  return list.map((entry: unknown) => ({
    id: stringAt(entry, 'Id'),
    imageId: withoutHashPrefix(stringAt(entry, 'ImageID')),
    createdMs: numberAt(entry, 'Created') * 1_000,
    isRunning: stringAt(entry, 'State') === 'running',
    handleId: stringAt(entry, 'Labels', HANDLE_LABEL),
    networkAllocationId: stringAt(entry, 'Labels', NETWORK_LABEL),
    agentId: stringAt(entry, 'Labels', AGENT_LABEL),
  }))
}

/** Image ID without the hash prefix, which not all engines include. */
function withoutHashPrefix(id: string): string {
  return id.replace(/^sha256:/, '')
}

interface DanglingCriteria {
  readonly agentId: string
  /** Objects that the agent still uses. */
  readonly tasks: Pick<LiveTasks, 'handleIds' | 'allocationIds'>
  readonly nowMs: number
  readonly graceMs: number
  /** False: containers of ended tasks are kept. */
  readonly removesEnded: boolean
}

/**
 * Containers of this agent that it no longer knows: it was killed in between, its engine was
 * unavailable when they should have been removed, or its data directory was deleted.
 */
export function findDangling(
  containers: readonly ListedContainer[],
  { agentId, tasks, nowMs, graceMs, removesEnded }: DanglingCriteria,
): readonly ListedContainer[] {
  return containers.filter((container) => {
    const { handleId, networkAllocationId } = container
    const isOwn = agentId !== '' && container.agentId === agentId
    const isEndedTask =
      handleId !== '' && !tasks.handleIds.has(handleId) && (container.isRunning || removesEnded)
    const isUnusedNetwork =
      networkAllocationId !== '' && !tasks.allocationIds.has(networkAllocationId)
    return isOwn && (isEndedTask || isUnusedNetwork) && nowMs - container.createdMs >= graceMs
  })
}
