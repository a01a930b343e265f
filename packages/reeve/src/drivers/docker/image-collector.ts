import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isMissing } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { plainId } from './dangling-containers.ts'
import type { DockerGc } from './docker-policy.ts'
import { isSuccess, member, parsed, refusalText, textAt, type Engine } from './engine.ts'
import { localName, parseImageReference } from './image-reference.ts'

/** An image that a task of this agent ran from. */
interface UsedImage {
  /** The names that tasks used for it, as the engine knows them. */
  readonly names: readonly string[]
  /** Null while something needs it. */
  readonly unusedSinceMs: number | null
}

type UsedImages = Readonly<Record<string, UsedImage>>

interface CollectorOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly gc: Pick<DockerGc, 'removesImages' | 'imageDelayMs'>
  /** Where the images are kept from one agent to the next; undefined: in memory alone. */
  readonly file: string | undefined
}

interface ImageNeeds {
  /** Ids of the images of all containers of the engine. */
  readonly containerImages: ReadonlySet<string>
  /** `image` of every task that runs or may still start, as its job has it. */
  readonly taskImages: readonly string[]
}

/**
 * Removes images that tasks of this agent ran from, some time after nothing of the node needs them
 * any more. Images that no task ever used are left alone.
 */
export class ImageCollector {
  readonly #options: CollectorOptions
  #images: Record<string, UsedImage> | undefined
  /** How many starts are under way with an image of this name. */
  readonly #held = new Map<string, number>()
  /** Settles when no image is being removed. */
  #removing: Promise<unknown> = Promise.resolve()
  #saving: Promise<void> = Promise.resolve()

  constructor(options: CollectorOptions) {
    this.#options = options
  }

  /** Keeps the image from being removed until the returned function is called. */
  async hold(name: string): Promise<() => void> {
    this.#held.set(name, (this.#held.get(name) ?? 0) + 1)
    // One that is being removed at this moment is fetched again afterwards.
    await this.#removing
    return () => {
      const left = (this.#held.get(name) ?? 1) - 1
      if (left > 0) this.#held.set(name, left)
      else this.#held.delete(name)
    }
  }

  /** A task is about to start from this image, which the engine has. Durable when it resolves. */
  async note(name: string): Promise<void> {
    if (!this.#options.gc.removesImages) return
    const id = await this.#idOf(name)
    if (id === undefined) return
    const images = await this.#load()
    const known = images[id]
    if (known?.names.includes(name) === true && known.unusedSinceMs === null) return
    for (const [other, image] of Object.entries(images)) {
      // The name has moved on to another image.
      const names = image.names.filter((one) => one !== name)
      images[other] = { ...image, names }
    }
    const names = [...(images[id]?.names ?? []), name]
    images[id] = { names, unusedSinceMs: null }
    await this.#save(images)
  }

  /** Gives the names of the images that were removed. */
  async collect(needs: ImageNeeds): Promise<readonly string[]> {
    if (!this.#options.gc.removesImages) return []
    const images = await this.#load()
    const before = JSON.stringify(images)
    const removed: string[] = []
    for (const id of Object.keys(images)) {
      const image = images[id]
      if (image === undefined) continue
      const isNeeded = needs.containerImages.has(id) || this.#isNeeded(image, needs)
      const next = this.#judge(image, isNeeded)
      images[id] = next
      if (!this.#isDue(next)) continue
      if (!(await this.#remove(id, next))) continue
      delete images[id]
      removed.push(next.names[0] ?? id)
    }
    if (JSON.stringify(images) !== before) await this.#save(images)
    return removed
  }

  #isNeeded({ names }: UsedImage, { taskImages }: ImageNeeds): boolean {
    return names.some((name) => {
      return this.#held.has(name) || taskImages.some((wanted) => mayStartFrom(wanted, name))
    })
  }

  #judge(image: UsedImage, isNeeded: boolean): UsedImage {
    if (isNeeded) return { ...image, unusedSinceMs: null }
    const nowMs = this.#options.clock.nowMs()
    // The clock may have been set back since.
    return { ...image, unusedSinceMs: Math.min(image.unusedSinceMs ?? nowMs, nowMs) }
  }

  #isDue({ unusedSinceMs }: UsedImage): boolean {
    const { clock, gc } = this.#options
    return unusedSinceMs !== null && clock.nowMs() - unusedSinceMs >= gc.imageDelayMs
  }

  /** True when the driver need not think of it any more. */
  #remove(id: string, image: UsedImage): Promise<boolean> {
    const removed = this.#removeNames(id, image)
    this.#removing = removed.catch(() => undefined)
    return removed
  }

  async #removeNames(id: string, { names }: UsedImage): Promise<boolean> {
    for (const name of names) {
      if ((await this.#idOf(name)) !== id) continue
      if (!(await this.#delete(name))) return false
    }
    const left = await this.#inspect(id)
    if (left === undefined) return true
    // Somebody gave it a further name: it is theirs now.
    const tags = member(left, 'RepoTags')
    return Array.isArray(tags) && tags.length > 0 ? true : this.#delete(id)
  }

  /** False when something uses it that the engine knows and we do not. */
  async #delete(nameOrId: string): Promise<boolean> {
    const path = `/images/${encodeURIComponent(nameOrId)}`
    const answer = await this.#options.engine.call({ method: 'DELETE', path })
    if (isSuccess(answer) || answer.status === 404) return true
    if (answer.status === 409) return false
    throw new Fault('engine', `image ${nameOrId} cannot be removed: ${refusalText(answer)}`)
  }

  async #idOf(name: string): Promise<string | undefined> {
    const id = plainId(textAt(await this.#inspect(name), 'Id'))
    return id === '' ? undefined : id
  }

  async #inspect(nameOrId: string): Promise<unknown> {
    const path = `/images/${encodeURIComponent(nameOrId)}/json`
    const answer = await this.#options.engine.call({ method: 'GET', path })
    if (answer.status === 404) return undefined
    if (isSuccess(answer)) return parsed(answer.text)
    throw new Fault('engine', `the engine cannot look for images: ${refusalText(answer)}`)
  }

  async #load(): Promise<Record<string, UsedImage>> {
    this.#images ??= { ...(await readImages(this.#options.file)) }
    return this.#images
  }

  /** One write at a time. A list that cannot be written costs disk later, and no start now. */
  #save(images: UsedImages): Promise<void> {
    const { file } = this.#options
    if (file === undefined) return Promise.resolve()
    this.#saving = this.#saving.then(() => writeImages(file, images)).catch(() => undefined)
    return this.#saving
  }
}

async function writeImages(file: string, images: UsedImages): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(`${file}.tmp`, JSON.stringify(images), { mode: 0o600 })
  await rename(`${file}.tmp`, file)
}

async function readImages(file: string | undefined): Promise<UsedImages> {
  if (file === undefined) return {}
  try {
    // Written by `#save`; the directory is the agent's own.
    return JSON.parse(await readFile(file, 'utf8')) as UsedImages
  } catch (thrown) {
    // A list that cannot be read costs disk, not correctness: it begins anew.
    if (isMissing(thrown) || thrown instanceof SyntaxError) return {}
    throw thrown
  }
}

/**
 * Whether a task whose job asks for `wanted` may start from the image that the engine has under
 * this name. References are resolved when the task starts, so anything may stand in their place.
 */
export function mayStartFrom(wanted: string, name: string): boolean {
  const [first = '', ...rest] = wanted.split(/\$\{[^}]*\}/)
  const last = rest.pop()
  if (last === undefined) return nameOf(wanted) === name
  if (!name.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  const tail = name.slice(at)
  return tail.endsWith(last) || tail.endsWith(`${last}:latest`)
}

function nameOf(image: string): string {
  try {
    return localName(parseImageReference(image))
  } catch {
    // No name of an image: the task will not start with it.
    return image
  }
}
