import { createWriteStream } from 'node:fs'
import { request as plainRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Fault, messageOf } from '../../kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { redactAddress } from './source.ts'

interface HttpFetch {
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
  /** Accepts any certificate. */
  readonly insecure: boolean
  /** A file that is not there yet. */
  readonly path: string
  readonly bytesMax: number
  readonly signal: AbortSignal
}

/** Downloads into a file. Follows redirects, but takes the headers to no other server. */
export async function fetchHttp(fetch: HttpFetch): Promise<void> {
  let url = parseUrl(fetch.address)
  let { headers } = fetch
  for (let redirects = 0; redirects <= AGENT_LIMITS.artifactRedirectsMax; redirects += 1) {
    const response = await ask(url, { ...fetch, headers })
    const location = response.headers.location
    if (isRedirect(response) && location !== undefined) {
      response.destroy()
      const next = parseUrl(location, url)
      if (next.origin !== url.origin) headers = {}
      url = next
      continue
    }
    if (response.statusCode !== 200) {
      response.destroy()
      throw failed(url, `the server answered ${response.statusCode ?? 'nothing'}`)
    }
    await save(response, fetch, url)
    return
  }
  throw failed(url, 'too many redirects')
}

function isRedirect({ statusCode = 0 }: IncomingMessage): boolean {
  return [301, 302, 303, 307, 308].includes(statusCode)
}

function parseUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url
  throw new Fault('task-artifact', `${JSON.stringify(redactAddress(text))} is no web address`)
}

async function ask(url: URL, { headers, insecure, signal }: HttpFetch): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options: RequestOptions = {
    headers: { 'user-agent': 'reeve', 'accept-encoding': 'identity', ...headers },
    signal,
  }
  const request =
    url.protocol === 'https:'
      ? secureRequest(url, { ...options, rejectUnauthorized: !insecure }, resolve)
      : plainRequest(url, options, resolve)
  request.on('error', reject)
  request.setTimeout(AGENT_LIMITS.artifactSilenceMsMax, () => {
    request.destroy(new Error('the server sends nothing'))
  })
  request.end()
  return promise.catch((thrown: unknown) => {
    throw failed(url, messageOf(thrown))
  })
}

async function save(
  response: IncomingMessage,
  { path, bytesMax, signal }: HttpFetch,
  url: URL,
): Promise<void> {
  let count = 0
  const counter = new Transform({
    transform(piece: Uint8Array, _, done) {
      count += piece.length
      if (count > bytesMax) done(new Error(`the download is larger than ${bytesMax} bytes`))
      else done(null, piece)
    },
  })
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  await pipeline(response, counter, file, { signal }).catch((thrown: unknown) => {
    throw failed(url, messageOf(thrown))
  })
}

function failed(url: URL, why: string): Fault {
  return new Fault('task-artifact', `cannot download ${redactAddress(url.href)}: ${why}`)
}
