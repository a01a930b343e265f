import { createWriteStream } from 'node:fs'
import { request as plainRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { hostOf, policyLookup, requireAllowed, type AddressPolicy } from './address-policy.ts'
import type { DiskBudget, FileCharge } from './disk-budget.ts'
import { redactAddress } from './source.ts'

interface HttpFetch {
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
  /** Skips TLS verification. */
  readonly insecure: boolean
  readonly policy: AddressPolicy
  /** A file that does not exist yet. */
  readonly path: string
  readonly budget: DiskBudget
  /** Below the budget; no such limit unless given. */
  readonly bytesMax?: number
  /** Explains an answer that is no download, from its status and the beginning of its body. */
  readonly problem?: (status: number, body: string) => string
  readonly signal: AbortSignal
}

/**
 * Downloads into a file and returns its charge on the budget. Redirects are followed, but headers
 * are sent to no other server, and every hop is checked against the address policy.
 */
export async function fetchHttp(fetch: HttpFetch): Promise<FileCharge> {
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
    if (response.statusCode !== 200) throw failed(url, await problemOf(response, fetch))
    return save(response, fetch, url)
  }
  throw failed(url, 'too many redirects')
}

async function problemOf(response: IncomingMessage, { problem }: HttpFetch): Promise<string> {
  const status = response.statusCode ?? 0
  if (problem === undefined) {
    response.destroy()
    return `the server answered ${status}`
  }
  return problem(status, await beginningOf(response))
}

/** What has come when it is enough, or when the server breaks off. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  let body = ''
  response.setEncoding('utf8')
  try {
    for await (const piece of response) {
      body += String(piece)
      if (body.length >= AGENT_LIMITS.artifactProblemCharsMax) break
    }
  } catch {
    // The status alone says enough.
  }
  return body.slice(0, AGENT_LIMITS.artifactProblemCharsMax)
}

function isRedirect({ statusCode = 0 }: IncomingMessage): boolean {
  return [301, 302, 303, 307, 308].includes(statusCode)
}

function parseUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url
  throw new Fault('task-artifact', `${JSON.stringify(redactAddress(text))} is no web address`)
}

async function ask(url: URL, fetch: HttpFetch): Promise<IncomingMessage> {
  const { headers, insecure, policy, signal } = fetch
  const describe = describeHop(fetch.address, url)
  requireAllowed(hostOf(url.hostname), policy, describe)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options: RequestOptions = {
    headers: { 'user-agent': 'reeve', 'accept-encoding': 'identity', ...headers },
    lookup: policyLookup(policy, describe),
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
    throw thrown instanceof Fault ? thrown : failed(url, errorMessage(thrown))
  })
}

function describeHop(source: string, url: URL): string {
  const [first, now] = [redactAddress(source), redactAddress(url.href)]
  const isFirst = parseUrl(source).href === url.href
  return `Artifact source ${first}${isFirst ? '' : ` redirects to ${now}, which`}`
}

async function save(response: IncomingMessage, fetch: HttpFetch, url: URL): Promise<FileCharge> {
  const { path, budget, bytesMax = Infinity, signal } = fetch
  // The server may not tell the length, or lie: the bytes are counted too.
  budget.requireFree(Number(response.headers['content-length'] ?? 0) || 0)
  const charge = budget.addFile()
  let count = 0
  const add = (bytes: number): void => {
    count += bytes
    if (count > bytesMax) throw new Error(`the download is larger than ${bytesMax} bytes`)
    charge.addBytes(bytes)
  }
  const counter = new Transform({
    transform(piece: Uint8Array, _, done) {
      try {
        add(piece.length)
        done(null, piece)
      } catch (thrown) {
        done(thrown instanceof Error ? thrown : new Error(errorMessage(thrown)))
      }
    },
  })
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
  await pipeline(response, counter, file, { signal }).catch((thrown: unknown) => {
    throw thrown instanceof Fault ? thrown : failed(url, errorMessage(thrown))
  })
  return charge
}

function failed(url: URL, why: string): Fault {
  return new Fault('task-artifact', `cannot download ${redactAddress(url.href)}: ${why}`)
}
