import type { IncomingMessage } from 'node:http'
import { HEADERS } from '@reeve/contract'
import type { ForwardReason } from '../http/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { REGION_OUTCOME_UNKNOWN, REGION_UNREACHABLE } from '../workload/index.ts'
import { onConnected } from '../proxy/index.ts'
import { describeConnectionError, type RegionConnections } from './region-connections.ts'
import type { RegionDirectory } from './region-directory.ts'
import {
  REGION_FORWARD_HEADER,
  REGION_VIA_HEADER,
  withRegion,
  formatVia,
} from './forward-headers.ts'

/** Maximum response size: a list of every global token of a large installation. */
const RESPONSE_BYTES_MAX = 256 * 1024 * 1024
/** Response timeout: a server that is silent for this long counts as failed. */
const RESPONSE_TIMEOUT_MS = 30_000

interface RegionRequestOptions {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly forwardReason: ForwardReason
  /** Secret of the token to send; empty sends none. */
  readonly token: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The request changes nothing, whatever its method; by default true for `GET`. */
  readonly isRead?: boolean
  readonly signal?: AbortSignal
  /** Response timeout. */
  readonly responseTimeoutMs?: number
}

export interface RegionResponse {
  readonly status: number
  readonly text: string
  /** `X-Service-Error-Code`; empty if missing. */
  readonly errorCode: string
  /** `X-Service-Index`; 0 if missing. */
  readonly index: number
}

/** Sends requests to servers of other regions on behalf of this server. */
export class RegionClient {
  readonly #directory: RegionDirectory
  readonly #connections: RegionConnections

  constructor(directory: RegionDirectory, connections: RegionConnections) {
    this.#directory = directory
    this.#connections = connections
  }

  /**
   * Returns the response, whatever its status. Throws a Fault if there is none. The next server is
   * tried only if the previous one certainly did nothing.
   */
  async request(region: string, options: RegionRequestOptions): Promise<RegionResponse> {
    const isRead = options.isRead ?? options.method === 'GET'
    let lastError = 'no server of it is known'
    for (const address of this.#directory.addressesOf(region)) {
      const attempt = await this.#attempt(region, address, options)
      if ('status' in attempt) {
        this.#directory.recordResponse(region, address)
        return attempt
      }
      this.#directory.recordFailure(region, address)
      lastError = attempt.why
      if (options.signal?.aborted === true) break
      if (attempt.wasSent && !isRead) throw outcomeUnknownFault(region, lastError)
    }
    throw unreachableFault(region, lastError)
  }

  async #attempt(
    region: string,
    address: string,
    options: RegionRequestOptions,
  ): Promise<RegionResponse | { readonly why: string; readonly wasSent: boolean }> {
    const {
      method,
      url,
      forwardReason,
      token,
      body,
      responseTimeoutMs = RESPONSE_TIMEOUT_MS,
    } = options
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    let wasSent = false
    const response = Promise.withResolvers<RegionResponse>()
    const clientRequest = this.#connections.request({
      region,
      address,
      method,
      url: withRegion(url, region),
      headers: {
        ...options.headers,
        [REGION_FORWARD_HEADER]: forwardReason,
        [REGION_VIA_HEADER]: formatVia(this.#directory.localRegion, ''),
        ...(token !== '' && { [HEADERS.token]: token }),
        ...(bytes !== undefined && { 'content-length': String(bytes.length) }),
      },
      usesOwnSocket: method !== 'GET',
    })
    onConnected(clientRequest, () => {
      wasSent = true
      clientRequest.end(bytes)
    })
    clientRequest.on(
      'response',
      (message) => void readResponse(message).then(response.resolve, response.reject),
    )
    clientRequest.on('error', response.reject)
    const abort = (): void => void clientRequest.destroy(new Error('the request was cancelled'))
    options.signal?.addEventListener('abort', abort, { once: true })
    const timer = setTimeout(
      () => clientRequest.destroy(new Error('no response in time')),
      responseTimeoutMs,
    )
    try {
      if (options.signal?.aborted === true) abort()
      return await response.promise
    } catch (thrown) {
      const hasAnswered = this.#directory.hasEverResponded(address)
      return { why: describeConnectionError(thrown, { address, hasAnswered }), wasSent }
    } finally {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', abort)
    }
  }
}

async function readResponse(message: IncomingMessage): Promise<RegionResponse> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of message) {
    // An HTTP stream yields buffers if no encoding was set.
    const bytes = chunk as Buffer
    size += bytes.length
    if (size > RESPONSE_BYTES_MAX)
      throw new Error(`its response has over ${RESPONSE_BYTES_MAX} bytes`)
    chunks.push(bytes)
  }
  const index = Number(message.headers[HEADERS.index.toLowerCase()] ?? 0)
  const errorCode = message.headers[HEADERS.errorCode.toLowerCase()]
  return {
    status: message.statusCode ?? 502,
    text: Buffer.concat(chunks).toString('utf8'),
    errorCode: typeof errorCode === 'string' ? errorCode : '',
    index: Number.isSafeInteger(index) ? index : 0,
  }
}

function unreachableFault(region: string, reason: string): Fault {
  return new Fault(REGION_UNREACHABLE, `region "${region}" did not answer (${reason})`)
}

function outcomeUnknownFault(region: string, reason: string): Fault {
  const text = `region "${region}" did not answer (${reason}); it may or may not have happened there`
  return new Fault(REGION_OUTCOME_UNKNOWN, text)
}
