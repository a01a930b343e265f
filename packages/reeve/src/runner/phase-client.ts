import { X509Certificate } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { checkServerIdentity, type ConnectionOptions } from 'node:tls'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '@reeve/kit/fault.ts'

export interface PhaseAddress {
  /** `http://host:port` or `https://…`. */
  readonly address: string
  readonly phaseId: string
  /** In PEM form; empty for those of the node. */
  readonly authorities: string
}

export interface PhaseRequest {
  readonly method: 'GET' | 'PUT' | 'POST'
  /** What follows the path of the phase. */
  readonly path: string
  readonly type?: string
  readonly body?: Uint8Array
}

interface PhaseResponse {
  readonly status: number
  readonly body: Buffer
}

/** The phase is over for this runner: whatever it does is not wanted any more. */
export const PHASE_OVER = 'phase-over'
/** The server refused what was sent. */
export const PHASE_REFUSED = 'phase-refused'

const REQUEST_MS_MAX = 60_000
const RETRY_MS_MIN = 200
const RETRY_MS_MAX = 5_000
/** A server that is away comes back; an apply that is done waits for it with its state. */
const RETRY_MS_IN_ALL = 60 * 60 * 1_000

/** Speaks to the server about one phase. A request that finds no server is repeated. */
export class PhaseClient {
  readonly #at: PhaseAddress
  readonly #token: string

  constructor(at: PhaseAddress, token: string) {
    this.#at = at
    this.#token = token
  }

  async send(request: PhaseRequest): Promise<Buffer | undefined> {
    const startMs = Date.now()
    for (let pauseMs = RETRY_MS_MIN; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
      const response = await this.#once(request).catch((thrown: unknown) => {
        if (Date.now() - startMs > RETRY_MS_IN_ALL) throw thrown
        return undefined
      })
      if (response !== undefined && !isPassing(response.status)) return checked(response)
      await sleep(pauseMs)
    }
  }

  async sendJson(request: Omit<PhaseRequest, 'body' | 'type'>, body: object): Promise<unknown> {
    const bytes = Buffer.from(JSON.stringify(body))
    const answer = await this.send({ ...request, body: bytes, type: 'application/json' })
    return answer === undefined ? undefined : JSON.parse(answer.toString('utf8'))
  }

  #once({ method, path, type = OCTETS, body }: PhaseRequest): Promise<PhaseResponse> {
    const { address, phaseId, authorities } = this.#at
    const url = new URL(`/api/v2/run-phases/${encodeURIComponent(phaseId)}${path}`, address)
    const headers = {
      authorization: `Bearer ${this.#token}`,
      ...(body === undefined ? {} : { 'content-type': type, 'content-length': body.length }),
    }
    const secure = authorities === '' ? {} : trustOf(authorities)
    const { promise, resolve, reject } = Promise.withResolvers<PhaseResponse>()
    const options = { method, headers, timeout: REQUEST_MS_MAX, ...secure }
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
 * The server gave its own certificate with the job: that one is trusted whatever it is called.
 * After a renewal its authority vouches for it, by the name that servers have.
 */
function trustOf(authorities: string): ConnectionOptions {
  const known = authorities.match(CERTIFICATES) ?? []
  const raws = known.map((pem) => new X509Certificate(pem).raw)
  return {
    ca: authorities,
    allowPartialTrustChain: true,
    checkServerIdentity: (host, certificate) => {
      if (raws.some((raw) => raw.equals(certificate.raw))) return undefined
      const isServer = /DNS:server\.[^,]+\.reeve\b/.test(certificate.subjectaltname ?? '')
      return isServer ? undefined : checkServerIdentity(host, certificate)
    },
  }
}

const OCTETS = 'application/octet-stream'

/** Too many requests, and servers that start, stop or follow. */
function isPassing(status: number): boolean {
  return status === 429 || status >= 500
}

function checked({ status, body }: PhaseResponse): Buffer | undefined {
  if (status === 204) return undefined
  if (status >= 200 && status < 300) return body
  const text = body.toString('utf8').slice(0, 500)
  if (status === 404) throw new Fault(PHASE_OVER, 'the phase is over')
  throw new Fault(PHASE_REFUSED, `the server answered ${status}: ${text}`)
}
