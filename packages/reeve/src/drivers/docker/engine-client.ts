import { readFile } from 'node:fs/promises'
import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { Agent as TlsAgent, request as httpsRequest } from 'node:https'
import type { Duplex, Readable } from 'node:stream'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { DOCKER_LIMITS, type DockerPolicy } from './docker-policy.ts'

/** API version of these endpoints, which later engines support too. */
const API_VERSION = 'v1.41'

/** Timeout of calls that need no long work. */
const RESPONSE_TIMEOUT_MS = 30_000

/** Limit of a response: a description of one container or a page of progress. */
const RESPONSE_BYTES_MAX = 16 * 1024 * 1024

interface EngineRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below the version: `/containers/json`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** In place of a body: sent as it is read, and closed whatever happens. */
  readonly upload?: Readable
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the call. Without one it may take `ANSWER_MS_MAX`. */
  readonly signal?: AbortSignal
}

export interface EngineResponse {
  readonly status: number
  readonly body: string
}

/** An engine that listens on TCP. Without certificates anybody who reaches it is root there. */
export interface TcpEngine {
  readonly host: string
  readonly port: number
  readonly tls: EngineTls | undefined
}

/** Paths of PEM files. */
export interface EngineTls {
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
}

const AGENT_OPTIONS = { keepAlive: true, maxFreeSockets: 8, timeout: 60_000 } as const

/**
 * A container engine behind its unix socket, or behind TCP. Speaks the Engine API with plain HTTP
 * or TLS. Every failure to get an answer is a Fault `engine`; what the answer says is the caller's
 * business.
 */
export class EngineClient {
  /** Empty for an engine behind TCP. */
  readonly socketPath: string
  readonly #tcp: TcpEngine | undefined
  #agent: Agent | undefined

  constructor(address: string | TcpEngine) {
    this.socketPath = typeof address === 'string' ? address : ''
    this.#tcp = typeof address === 'string' ? undefined : address
  }

  /** Calls the engine and returns the whole response, whatever its status. */
  async call(call: EngineRequest): Promise<EngineResponse> {
    const response = await this.openStream(call)
    const pieces: Buffer[] = []
    let size = 0
    try {
      for await (const piece of response) {
        // Node's streams of bytes give Buffers.
        const bytes = piece as Buffer
        size += bytes.length
        if (size > RESPONSE_BYTES_MAX)
          throw new Error(`the answer is over ${RESPONSE_BYTES_MAX} bytes`)
        pieces.push(bytes)
      }
    } catch (thrown) {
      response.destroy()
      throw this.#unreachableFault(thrown)
    }
    return { status: response.statusCode ?? 0, body: Buffer.concat(pieces).toString('utf8') }
  }

  /** Returns the response as a stream after its head. The caller reads or destroys it. */
  async openStream(call: EngineRequest): Promise<IncomingMessage> {
    const agent = await this.#httpAgent()
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const request = this.#send(call, agent)
    request.once('response', resolve)
    request.once('error', (error) => reject(this.#unreachableFault(error)))
    return promise
  }

  /**
   * Upgrades the connection to a raw bidirectional stream; returns the response if the engine
   * refuses.
   */
  async hijack(call: EngineRequest): Promise<Duplex | EngineResponse> {
    const agent = await this.#httpAgent()
    const { promise, resolve, reject } = Promise.withResolvers<Duplex | EngineResponse>()
    const headers = { ...call.headers, Connection: 'Upgrade', Upgrade: 'tcp' }
    const request = this.#send({ ...call, headers }, agent, false)
    request.once('upgrade', (_response, socket, head) => {
      socket.setTimeout(0)
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    request.once('response', (response) => {
      void readBody(response).then((text) =>
        resolve({ status: response.statusCode ?? 0, body: text }),
      )
    })
    request.once('error', (error) => reject(this.#unreachableFault(error)))
    return promise
  }

  /** Closes idle connections, so that the process can exit. */
  close(): void {
    this.#agent?.destroy()
  }

  /** Reads certificates when first needed, and again after a failed connection. */
  async #httpAgent(): Promise<Agent> {
    if (this.#agent !== undefined) return this.#agent
    try {
      const tls = this.#tcp?.tls
      const newAgent =
        tls === undefined
          ? new Agent(AGENT_OPTIONS)
          : new TlsAgent({ ...AGENT_OPTIONS, ...(await readCertificates(tls)) })
      this.#agent ??= newAgent
      return this.#agent
    } catch (thrown) {
      throw this.#unreachableFault(thrown)
    }
  }

  #send(call: EngineRequest, agent: Agent, isShared = true): ClientRequest {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body)
    const query = new URLSearchParams(call.query)
    const tcp = this.#tcp
    const options = {
      ...(tcp === undefined
        ? { socketPath: this.socketPath }
        : { host: tcp.host, port: tcp.port, ...(isShared ? {} : certificatesOf(agent)) }),
      method: call.method,
      path: `/${API_VERSION}${call.path}${query.size > 0 ? `?${query.toString()}` : ''}`,
      headers: {
        // With TLS the certificate is verified against the host.
        ...(tcp === undefined ? { Host: 'engine' } : {}),
        ...(body === undefined
          ? {}
          : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        ...call.headers,
      },
      agent: isShared ? agent : (false as const),
      signal: call.signal ?? AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
    }
    const request = tcp?.tls === undefined ? httpRequest(options) : httpsRequest(options)
    if (call.upload === undefined) request.end(body)
    else pipeUpload(call.upload, request)
    return request
  }

  #unreachableFault(cause: unknown): Fault {
    const tcp = this.#tcp
    // Not destroyed: other calls may still use it.
    if (tcp?.tls !== undefined) this.#agent = undefined
    const address = tcp === undefined ? this.socketPath : `${tcp.host}:${tcp.port}`
    const message = `the container engine at ${address} does not answer: ${errorMessage(cause)}`
    return new Fault('engine', message, { cause })
  }
}

interface Certificates {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

async function readCertificates({ caFile, certFile, keyFile }: EngineTls): Promise<Certificates> {
  const read = async (file: string | undefined): Promise<string | undefined> =>
    file === undefined ? undefined : readFile(file, 'utf8')
  const [ca, cert, key] = await Promise.all([read(caFile), read(certFile), read(keyFile)])
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
}

/** Certificates of the shared agent for a separate connection. */
function certificatesOf(agent: Agent): Certificates {
  if (!(agent instanceof TlsAgent)) return {}
  const { ca, cert, key } = agent.options
  // Set by `readCertificates`, which reads strings.
  return { ca, cert, key } as Certificates
}

/**
 * Pipes an upload. An engine may respond before the end of the upload; its response is then used.
 */
function pipeUpload(upload: Readable, request: ClientRequest): void {
  upload.once('error', (error) => request.destroy(error))
  request.once('close', () => upload.destroy())
  upload.pipe(request)
}

async function readBody(response: IncomingMessage): Promise<string> {
  let body = ''
  try {
    for await (const piece of response) {
      if (body.length < RESPONSE_BYTES_MAX) body += String(piece)
    }
  } catch {
    // Truncated: use the received part.
  }
  return body
}

export function isSuccess(response: EngineResponse): boolean {
  // Engines differ in the success status: 200, 201 or 204.
  return response.status >= 200 && response.status < 300
}

/** Error message of a response: its `message` if there is one. */
export function errorMessageOf(response: EngineResponse): string {
  const message = getPath(tryParseJson(response.body), 'message')
  const sentence = typeof message === 'string' && message !== '' ? message : response.body.trim()
  return `${sanitizeExternalText(sentence)} (status ${response.status})`
}

/** Message text from a registry, engine or helper, as one line of limited length. */
export function sanitizeExternalText(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, DOCKER_LIMITS.externalTextCharsMax)
}

/** Parses JSON; undefined if invalid. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A nested value of a response; undefined if the path does not exist. */
export function getPath(value: unknown, ...path: readonly string[]): unknown {
  let current = value
  for (const name of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, name))
      return undefined
    current = Reflect.get(current, name)
  }
  return current
}

export function stringAt(value: unknown, ...path: readonly string[]): string {
  const found = getPath(value, ...path)
  return typeof found === 'string' ? found : ''
}

export function numberAt(value: unknown, ...path: readonly string[]): number {
  const found = getPath(value, ...path)
  return typeof found === 'number' && Number.isFinite(found) ? found : 0
}

/** Timeout of the probe, after which the engine is unhealthy. */
const PROBE_TIMEOUT_MS = 5_000

/** Information about an engine that responded. */
export interface EngineInfo {
  /** The names of its runtimes. */
  readonly runtimes: readonly string[]
  readonly networkAccess: NetworkAccess
  /** Node attributes for constraints. */
  readonly attributes: Readonly<Record<string, string>>
}

/** How containers join the network of their allocation. */
type NetworkAccess =
  | { readonly kind: 'path' }
  | { readonly kind: 'pause' }
  | { readonly kind: 'none'; readonly problem: string }

interface ReadEngineInfoOptions {
  readonly policy: DockerPolicy
  /** Whether the node has the helper program, which pause containers run. */
  readonly hasHelper: boolean
}

export async function readEngineInfo(
  engine: EngineClient,
  { policy, hasHelper }: ReadEngineInfoOptions,
): Promise<EngineInfo> {
  const version = await getFromEngine(engine, '/version')
  const info = await getFromEngine(engine, '/info')
  const runtimes = Object.keys(getPath(info, 'Runtimes') ?? {}).toSorted()
  const networkAccess = detectNetworkAccess({ version, info, hasHelper })
  const attributes = {
    'driver.docker': '1',
    'driver.docker.version': stringAt(version, 'Version'),
    'driver.docker.os_type': stringAt(info, 'OSType'),
    'driver.docker.privileged.enabled': String(policy.allowPrivileged),
    'driver.docker.volumes.enabled': String(policy.allowVolumes),
    'driver.docker.runtimes': runtimes.join(','),
    'driver.docker.allocation_network': networkAccess.kind,
    ...(networkAccess.kind === 'none'
      ? { 'driver.docker.allocation_network.problem': networkAccess.problem }
      : {}),
    ...(await readBridgeAttributes(engine)),
  }
  return { runtimes, networkAccess, attributes }
}

/** Podman joins network namespaces by path; other engines only those of containers. */
export function detectNetworkAccess({
  version,
  info,
  hasHelper,
}: {
  readonly version: unknown
  readonly info: unknown
  readonly hasHelper: boolean
}): NetworkAccess {
  if (JSON.stringify(getPath(version, 'Components') ?? '').includes('Podman'))
    return { kind: 'path' }
  const options = JSON.stringify(getPath(info, 'SecurityOptions') ?? [])
  const userMapping = ['userns', 'rootless'].find((name) => options.includes(`name=${name}`))
  if (userMapping !== undefined) {
    const problem = `the container engine runs with ${userMapping}, where containers cannot join networks of root`
    return { kind: 'none', problem }
  }
  if (hasHelper) return { kind: 'pause' }
  const problem = 'the task helper, which pause containers run, was not built on this node'
  return { kind: 'none', problem }
}

/** Fault `engine` for anything but success. */
export async function getFromEngine(engine: EngineClient, path: string): Promise<unknown> {
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS)
  const response = await engine.call({ method: 'GET', path, signal })
  if (!isSuccess(response)) throw new Fault('engine', errorMessageOf(response))
  return tryParseJson(response.body)
}

/** Address of the default bridge network. */
async function readBridgeAttributes(
  engine: EngineClient,
): Promise<Readonly<Record<string, string>>> {
  const network = await getFromEngine(engine, '/networks/bridge').catch(() => undefined)
  const configs = getPath(network, 'IPAM', 'Config')
  const gateway = Array.isArray(configs) ? stringAt(configs[0], 'Gateway') : ''
  return gateway === '' ? {} : { 'driver.docker.bridge_ip': gateway }
}
