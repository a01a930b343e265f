import { Agent, request as ask, type RequestOptions } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ConnectionOptions } from 'node:tls'

/** Answers without a body, which a Response must not be given. */
const EMPTY: ReadonlySet<number> = new Set([101, 204, 205, 304])

/** All of `fetch` with certificates of one's own, which the platform's cannot be given. */
export function secureFetch(tls: ConnectionOptions): typeof fetch {
  const agent = new Agent({ keepAlive: true, ...tls })
  return async (input, init) => {
    const request = new Request(input, init)
    const url = new URL(request.url)
    // Certificates mean nothing there.
    if (url.protocol !== 'https:') return await fetch(request)
    const options = { method: request.method, headers: Object.fromEntries(request.headers), agent }
    return toResponse(await exchange(url, options, request))
  }
}

async function exchange(
  url: URL,
  options: RequestOptions,
  { body, signal }: Request,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const asked = ask(url, options, resolve)
  const abort = (): void => void asked.destroy()
  asked.on('error', (cause) => {
    // As the platform's fetch says it: whoever reads it finds the code in the cause.
    reject(signal.aborted ? signal.reason : new TypeError('fetch failed', { cause }))
  })
  signal.addEventListener('abort', abort)
  asked.on('close', () => signal.removeEventListener('abort', abort))
  if (signal.aborted) abort()
  if (body === null) asked.end()
  // Its failure is that of the request.
  else pipeline(body, asked).catch(() => undefined)
  return await promise
}

function toResponse(answer: IncomingMessage): Response {
  const { statusCode: status = 502, statusMessage: statusText = '', rawHeaders } = answer
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  if (EMPTY.has(status)) {
    answer.resume()
    return new Response(null, { status, statusText, headers })
  }
  return new Response(toStream(answer), { status, statusText, headers })
}

function toStream(answer: IncomingMessage): ReadableStream<Uint8Array> {
  // Bytes of a message are Buffers, and so Uint8Arrays; the types of Node leave it open.
  return Readable.toWeb(answer) as ReadableStream<Uint8Array>
}
