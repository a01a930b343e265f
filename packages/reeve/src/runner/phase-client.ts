import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { checkServerIdentity, type ConnectionOptions } from 'node:tls'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { RUN_LOG_BYTES_MAX } from '@reeve/contract/constants'
import { Fault } from '@reeve/kit/fault.ts'

interface PhaseAddress {
  /** `http://host:port` or `https://…`. */
  readonly address: string
  readonly phaseId: string
  /** In PEM form; empty to use those of the node. */
  readonly authorities: string
}

interface PhaseRequest {
  readonly method: 'GET' | 'PUT' | 'POST'
  /** Appended to the path of the phase. */
  readonly path: string
  readonly type?: string
  readonly body?: Uint8Array
}

interface PhaseResponse {
  readonly status: number
  readonly body: Buffer
}

/** Error code: the phase has ended for this runner, and further requests are rejected. */
export const PHASE_OVER = 'phase-over'
/** Error code: the server rejected the request. */
export const PHASE_REJECTED = 'phase-refused'

const REQUEST_TIMEOUT_MS = 60_000
const RETRY_MS_MIN = 200
const RETRY_MS_MAX = 5_000
/**
 * Total retry time. An apply that has finished waits for an unavailable server in order to store
 * its state.
 */
const RETRY_TOTAL_MS = 60 * 60 * 1_000

/** Client of the run phase API. Requests are retried while the server is unavailable. */
export class PhaseClient {
  readonly #address: PhaseAddress
  readonly #token: string

  constructor(at: PhaseAddress, token: string) {
    this.#address = at
    this.#token = token
  }

  async send(request: PhaseRequest): Promise<Buffer | undefined> {
    const startMs = Date.now()
    for (let pauseMs = RETRY_MS_MIN; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
      const response = await this.#sendOnce(request).catch((thrown: unknown) => {
        if (Date.now() - startMs > RETRY_TOTAL_MS) throw thrown
        return undefined
      })
      if (response !== undefined && !isTransient(response.status)) return bodyOrThrow(response)
      await sleep(pauseMs)
    }
  }

  async sendJson(request: Omit<PhaseRequest, 'body' | 'type'>, body: object): Promise<unknown> {
    const bytes = Buffer.from(JSON.stringify(body))
    const response = await this.send({ ...request, body: bytes, type: 'application/json' })
    return response === undefined ? undefined : JSON.parse(response.toString('utf8'))
  }

  /** Passes a request on to the server as it is, and its response back. */
  async forward(from: IncomingMessage, to: ServerResponse): Promise<void> {
    const { address, authorities } = this.#address
    const url = new URL(from.url ?? '/', address)
    const secure = authorities === '' ? {} : tlsOptions(authorities)
    const headers = { ...from.headers, host: url.host }
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const request = send(url, { method: from.method, headers, ...secure })
    // After the response has begun, its stream reports what breaks off.
    request.on('error', () => undefined)
    from.pipe(request)
    // The arguments of the event `response` are typed as any[].
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    to.writeHead(response.statusCode ?? 502, response.headers)
    await pipeline(response, to)
  }

  #sendOnce({ method, path, type = OCTETS, body }: PhaseRequest): Promise<PhaseResponse> {
    const { address, phaseId, authorities } = this.#address
    const url = new URL(`/api/v2/run-phases/${encodeURIComponent(phaseId)}${path}`, address)
    const headers = {
      authorization: `Bearer ${this.#token}`,
      ...(body === undefined ? {} : { 'content-type': type, 'content-length': body.length }),
    }
    const secure = authorities === '' ? {} : tlsOptions(authorities)
    const { promise, resolve, reject } = Promise.withResolvers<PhaseResponse>()
    const options = { method, headers, timeout: REQUEST_TIMEOUT_MS, ...secure }
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const request = send(url, options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) })
      })
    })
    request.on('timeout', () => request.destroy(new Fault('timeout', 'the server is silent')))
    request.on('error', reject)
    request.end(body)
    return promise
  }
}

const CERTIFICATES = /-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs

/**
 * Returns the trust settings. The job carries the server's own certificate, which is trusted
 * regardless of its name; a renewed one must be signed by its CA and have a server's name.
 */
function tlsOptions(authorities: string): ConnectionOptions {
  const certificates = authorities.match(CERTIFICATES) ?? []
  const rawCertificates = certificates.map((pem) => new X509Certificate(pem).raw)
  return {
    ca: authorities,
    allowPartialTrustChain: true,
    checkServerIdentity: (host, certificate) => {
      if (rawCertificates.some((raw) => raw.equals(certificate.raw))) return undefined
      const isServer = /DNS:server\.[^,]+\.reeve\b/.test(certificate.subjectaltname ?? '')
      return isServer ? undefined : checkServerIdentity(host, certificate)
    },
  }
}

const OCTETS = 'application/octet-stream'

/** Reports a transient status: too many requests, or a server that starts, stops or follows. */
function isTransient(status: number): boolean {
  return status === 429 || status >= 500
}

function bodyOrThrow({ status, body }: PhaseResponse): Buffer | undefined {
  if (status === 204) return undefined
  if (status >= 200 && status < 300) return body
  const text = body.toString('utf8').slice(0, 500)
  if (status === 404) throw new Fault(PHASE_OVER, 'the phase is over')
  throw new Fault(PHASE_REJECTED, `the server answered ${status}: ${text}`)
}

export const RUN_LOG_LIMITS = {
  /** Longer lines are masked in pieces. */
  lineChars: 256 * 1024,
  chunkBytes: 256 * 1024,
  flushMs: 100,
  /** Leaves room for the message that the log was truncated. */
  bytes: RUN_LOG_BYTES_MAX - 1_024,
} as const

/**
 * A state is uploaded when its file has been unchanged for `restMs`, and at the latest after
 * `latestMs`.
 */
export const STATE_UPLOAD_TIMES = { lookMs: 250, restMs: 1_000, latestMs: 5_000 } as const
