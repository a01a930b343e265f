import { createReadStream } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isMissing } from '../../agent/index.ts'
import { Fault, messageOf } from '../../kit/fault.ts'
import type { DockerConfig, RegistryAuth } from './docker-config.ts'
import {
  isSuccess,
  member,
  parsed,
  refusalText,
  textAt,
  type Engine,
  type EngineAnswer,
} from './engine.ts'
import { localName, type ImageReference } from './image-reference.ts'

/** Progress is told in lines of this length at most. */
const LINE_LENGTH_MAX = 1024 * 1024

interface ImagesOptions {
  readonly engine: Engine
  /** A file with logins by registry, in the form that the engine's own client writes; or none. */
  readonly authFile: string | undefined
}

/** Sees to it that images are there. Whoever wants one that is being fetched waits for that. */
export class Images {
  readonly #engine: Engine
  readonly #authFile: string | undefined
  readonly #underWay = new Map<string, Promise<void>>()

  constructor({ engine, authFile }: ImagesOptions) {
    this.#engine = engine
    this.#authFile = authFile
  }

  /**
   * Resolves when the image can be started. Fault `task-unstartable` when there is none of that
   * name or it may not be had, `task-start` for the rest.
   */
  async ensure(config: DockerConfig, taskDir: string): Promise<void> {
    const { image, pull } = config
    if (pull.load !== undefined) return this.#load(pull.load, taskDir)
    // A name that moves is looked up each time.
    const isFixed = image.tag !== 'latest'
    if (isFixed && !pull.isForced && (await this.#isHere(image))) return
    const key = JSON.stringify([localName(image), pull.auth ?? null])
    const existing = this.#underWay.get(key)
    const work = existing ?? this.#pull(config)
    if (existing === undefined) {
      this.#underWay.set(key, work)
      const forget = (): unknown => this.#underWay.delete(key)
      work.then(forget, forget)
    }
    await work
  }

  async #isHere(image: ImageReference): Promise<boolean> {
    const path = `/images/${encodeURIComponent(localName(image))}/json`
    const answer = await this.#engine.call({ method: 'GET', path })
    if (answer.status === 404) return false
    if (isSuccess(answer)) return true
    throw new Fault('task-start', `the engine cannot look for images: ${refusalText(answer)}`)
  }

  async #pull(config: DockerConfig): Promise<void> {
    const { image, pull } = config
    const auth = pull.auth ?? (await this.#nodeAuth(image.registry))
    const trouble = await this.#tryPull(image, auth, pull.timeoutMs)
    if (trouble === undefined) return
    if (auth === undefined || !pull.isAuthSoft) throw trouble
    const second = await this.#tryPull(image, undefined, pull.timeoutMs)
    if (second !== undefined) throw second
  }

  async #tryPull(
    image: ImageReference,
    auth: RegistryAuth | undefined,
    timeoutMs: number,
  ): Promise<Fault | undefined> {
    const { repository, tag, digest } = image
    const name = localName(image)
    try {
      const response = await this.#engine.open({
        method: 'POST',
        path: '/images/create',
        query: digest === '' ? { fromImage: repository, tag } : { fromImage: name },
        headers: auth === undefined ? {} : { 'X-Registry-Auth': authHeader(auth, image.registry) },
        signal: AbortSignal.timeout(timeoutMs),
      })
      const last = await lastError(response)
      const status = response.statusCode ?? 0
      if (status >= 200 && status < 300 && last.error === '') return undefined
      const text = last.error === '' ? refusalText({ status, text: last.text }) : last.error
      return pullFault(name, text, status)
    } catch (thrown) {
      const text = isTimeout(thrown) ? `it took longer than ${timeoutMs} ms` : messageOf(thrown)
      return new Fault('task-start', `cannot fetch image ${name}: ${text}`, { cause: thrown })
    }
  }

  /** A login that the operator has left on the node for this registry. */
  async #nodeAuth(registry: string): Promise<RegistryAuth | undefined> {
    if (this.#authFile === undefined) return undefined
    const text = await readFile(this.#authFile, 'utf8').catch((thrown: unknown) => {
      throw new Fault('task-start', `cannot read the logins of registries: ${messageOf(thrown)}`)
    })
    return findAuth(parsed(text), registry)
  }

  /** A tar archive among the task's files. */
  async #load(file: string, taskDir: string): Promise<void> {
    const path = await realpath(resolve(taskDir, file)).catch((thrown: unknown) => {
      if (!isMissing(thrown)) throw thrown
      throw new Fault('task-unstartable', `load: ${JSON.stringify(file)} is not there`)
    })
    if (!path.startsWith(`${await realpath(taskDir)}${sep}`)) {
      throw new Fault('task-config', `load: ${JSON.stringify(file)} is not a file of the task`)
    }
    const answer = await sendFile(this.#engine.socketPath, path)
    const failed = textAt(parsed(answer.text.trim().split('\n').at(-1) ?? ''), 'error')
    if (isSuccess(answer) && failed === '') return
    const text = failed === '' ? refusalText(answer) : failed
    throw new Fault('task-unstartable', `cannot load image ${file}: ${text}`)
  }
}

/** Says no for good when the registry knows no such image, or not for us. */
function pullFault(name: string, text: string, status: number): Fault {
  const isFinal = status === 404 || /not found|denied|unauthorized|manifest unknown/i.test(text)
  return new Fault(
    isFinal ? 'task-unstartable' : 'task-start',
    `cannot fetch image ${name}: ${text}`,
  )
}

function isTimeout(thrown: unknown): boolean {
  for (let at = thrown; at instanceof Error; at = at.cause) {
    if (at.name === 'TimeoutError' || at.name === 'AbortError') return true
  }
  return false
}

/** The engine answers 200 before it tries; what became of it is in the lines after that. */
async function lastError(
  lines: AsyncIterable<unknown>,
): Promise<{ readonly error: string; readonly text: string }> {
  let error = ''
  let text = ''
  const look = (line: string): void => {
    const said = textAt(parsed(line), 'error') || textAt(parsed(line), 'errorDetail', 'message')
    if (said !== '') error = said
    if (line.trim() !== '') text = line
  }
  let rest = ''
  for await (const piece of lines) {
    const whole = (rest + String(piece)).split('\n')
    rest = (whole.pop() ?? '').slice(0, LINE_LENGTH_MAX)
    for (const line of whole) look(line)
  }
  look(rest)
  return { error, text }
}

function authHeader(auth: RegistryAuth, registry: string): string {
  const { username, password, email, serverAddress } = auth
  const body = { username, password, email, serveraddress: serverAddress || registry }
  return Buffer.from(JSON.stringify(body)).toString('base64url')
}

/** `{"auths": {"registry": {"auth": base64 of "name:password"}}}` */
export function findAuth(file: unknown, registry: string): RegistryAuth | undefined {
  const names = [registry, `https://${registry}`, `https://index.${registry}/v1/`]
  for (const name of names) {
    const entry = member(file, 'auths', name)
    if (entry === undefined) continue
    const pair = Buffer.from(textAt(entry, 'auth'), 'base64').toString('utf8')
    const colon = pair.indexOf(':')
    if (colon < 0) continue
    const [username, password] = [pair.slice(0, colon), pair.slice(colon + 1)]
    return { username, password, email: '', serverAddress: name }
  }
  return undefined
}

const LOAD_MS_MAX = 10 * 60_000

async function sendFile(socketPath: string, path: string): Promise<EngineAnswer> {
  const { promise, resolve: settle, reject } = Promise.withResolvers<EngineAnswer>()
  const request = httpRequest({
    socketPath,
    method: 'POST',
    path: '/v1.41/images/load?quiet=1',
    headers: { Host: 'engine', 'Content-Type': 'application/x-tar' },
    signal: AbortSignal.timeout(LOAD_MS_MAX),
  })
  request.once('error', reject)
  request.once('response', (response) => {
    let text = ''
    response.on('data', (piece) => (text = (text + String(piece)).slice(-LINE_LENGTH_MAX)))
    response.once('end', () => settle({ status: response.statusCode ?? 0, text }))
    response.once('error', reject)
  })
  await pipeline(createReadStream(path), request).catch(reject)
  return promise
}
