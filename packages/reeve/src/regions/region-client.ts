import type { IncomingMessage } from 'node:http'
import { HEADERS } from '@reeve/contract'
import type { ForwardReason } from '../http/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { REGION_IN_DOUBT, REGION_UNREACHED } from '../workload/index.ts'
import { whenConnected, type RegionConnections } from './region-connection.ts'
import type { RegionDirectory } from './region-directory.ts'
import { REGION_HOP_HEADER, REGION_VIA_HEADER, withRegion, writeVia } from './region-hop.ts'
import { whyUnreached } from './why-unreached.ts'

/** The largest answer that is taken: a list of every global token of a large installation. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024
/** A server that took a request and says nothing for this long is as good as gone. */
const ANSWER_MS_MAX = 30_000

export interface RegionCall {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly hop: ForwardReason
  /** The secret to show; empty shows none. */
  readonly token: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Nothing is changed by it, whatever its method; `GET` unless said. */
  readonly isRead?: boolean
  readonly signal?: AbortSignal
  /** How long the answer may take. */
  readonly answerMsMax?: number
}

export interface RegionAnswer {
  readonly status: number
  readonly text: string
  /** `X-Service-Error-Code`; empty when it is not there. */
  readonly errorCode: string
  /** `X-Service-Index`; 0 when it is not there. */
  readonly index: number
}

/** Asks servers of other regions, as the servers of this one and for themselves. */
export class RegionClient {
  readonly #directory: RegionDirectory
  readonly #connections: RegionConnections

  constructor(directory: RegionDirectory, connections: RegionConnections) {
    this.#directory = directory
    this.#connections = connections
  }

  /**
   * The answer, whatever it is. Throws a Fault when there is none: the next server is asked only
   * where the one before surely did nothing.
   */
  async call(region: string, call: RegionCall): Promise<RegionAnswer> {
    const isRead = call.isRead ?? call.method === 'GET'
    let last = 'no server of it is known'
    for (const address of this.#directory.addressesOf(region)) {
      const attempt = await this.#attempt(region, address, call)
      if ('status' in attempt) {
        this.#directory.answered(region, address)
        return attempt
      }
      this.#directory.failed(region, address)
      last = attempt.why
      if (call.signal?.aborted === true) break
      if (attempt.hasLeft && !isRead) throw inDoubt(region, last)
    }
    throw unreached(region, last)
  }

  async #attempt(
    region: string,
    address: string,
    call: RegionCall,
  ): Promise<RegionAnswer | { readonly why: string; readonly hasLeft: boolean }> {
    const { method, url, hop, token, body, answerMsMax = ANSWER_MS_MAX } = call
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    let hasLeft = false
    const settled = Promise.withResolvers<RegionAnswer>()
    const asked = this.#connections.ask({
      region,
      address,
      method,
      url: withRegion(url, region),
      headers: {
        ...call.headers,
        [REGION_HOP_HEADER]: hop,
        [REGION_VIA_HEADER]: writeVia(this.#directory.own, ''),
        ...(token !== '' && { [HEADERS.token]: token }),
        ...(bytes !== undefined && { 'content-length': String(bytes.length) }),
      },
      isAlone: method !== 'GET',
    })
    whenConnected(asked, address, () => {
      hasLeft = true
      asked.end(bytes)
    })
    asked.on('response', (answer) => void readAnswer(answer).then(settled.resolve, settled.reject))
    asked.on('error', settled.reject)
    const abort = (): void => void asked.destroy(new Error('it is not waited for any more'))
    call.signal?.addEventListener('abort', abort, { once: true })
    const timer = setTimeout(() => asked.destroy(new Error('no answer in time')), answerMsMax)
    try {
      if (call.signal?.aborted === true) abort()
      return await settled.promise
    } catch (thrown) {
      const hasAnswered = this.#directory.hasAnswered(address)
      return { why: whyUnreached(thrown, { address, hasAnswered }), hasLeft }
    } finally {
      clearTimeout(timer)
      call.signal?.removeEventListener('abort', abort)
    }
  }
}

async function readAnswer(answer: IncomingMessage): Promise<RegionAnswer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of answer) {
    // A stream of http gives buffers where no encoding was set.
    const bytes = part as Buffer
    size += bytes.length
    if (size > ANSWER_BYTES_MAX) throw new Error(`its answer has over ${ANSWER_BYTES_MAX} bytes`)
    parts.push(bytes)
  }
  const index = Number(answer.headers[HEADERS.index.toLowerCase()] ?? 0)
  const errorCode = answer.headers[HEADERS.errorCode.toLowerCase()]
  return {
    status: answer.statusCode ?? 502,
    text: Buffer.concat(parts).toString('utf8'),
    errorCode: typeof errorCode === 'string' ? errorCode : '',
    index: Number.isSafeInteger(index) ? index : 0,
  }
}

function unreached(region: string, why: string): Fault {
  return new Fault(REGION_UNREACHED, `region "${region}" did not answer (${why})`)
}

function inDoubt(region: string, why: string): Fault {
  const text = `region "${region}" did not answer (${why}); it may or may not have happened there`
  return new Fault(REGION_IN_DOUBT, text)
}
