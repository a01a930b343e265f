import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { v1Routes, type Route, HEADERS } from '@reeve/contract'
import { NO_ALIASES, type HttpAliases } from '../../compat/index.ts'

interface CrossOriginOptions {
  /** Origins whose pages have the same access as their user; `*` is any. */
  readonly corsOrigins: readonly string[]
  /** External URL of this server behind a proxy; may be empty. */
  readonly externalUrl: string
}

/**
 * Protects a server without ACLs from pages of other websites. A browser lets any page submit a
 * form to any address, and with DNS rebinding a page can even read the response: with the access of
 * everyone who reaches the server.
 */
export class CrossOriginGuard {
  readonly #origins: ReadonlySet<string>
  readonly #names: ReadonlySet<string>

  constructor({ corsOrigins, externalUrl }: CrossOriginOptions) {
    const own = URL.parse(externalUrl)
    this.#origins = new Set(own === null ? corsOrigins : [...corsOrigins, own.origin])
    this.#names = new Set(own === null ? [] : [own.hostname])
  }

  /** Returns the reason for rejecting a request; undefined if it is accepted. */
  rejectionOf(request: IncomingMessage): string | undefined {
    return this.hostProblem(request) ?? this.#originProblem(request)
  }

  /**
   * Rejects a foreign host name that resolves to a loopback address (DNS rebinding). IP literals
   * cannot be rebound. A server that listens on other addresses may have any name.
   */
  hostProblem({ headers, socket }: IncomingMessage): string | undefined {
    if (!isLoopback(socket.localAddress ?? '')) return undefined
    const name = hostName(headers.host ?? '')
    if (name === '' || isIP(name) !== 0 || isLocalName(name) || this.#names.has(name))
      return undefined
    return (
      `ACLs are off, and ${JSON.stringify(name)} is not a name of this server: use its address or ` +
      'localhost, or set http_api_external_url to that name'
    )
  }

  #originProblem({ headers, method = '', url = '' }: IncomingMessage): string | undefined {
    if (SAFE_METHODS.has(method) && !(method !== 'OPTIONS' && changesState(url))) return undefined
    const { origin } = headers
    if (this.#origins.has('*')) return undefined
    if (origin === undefined) {
      // Requests of images and links have no Origin header, but browsers send Sec-Fetch-Site.
      const isForeign = FOREIGN_FETCH_SITES.has(String(headers['sec-fetch-site']))
      return isForeign ? originRejection('another website') : undefined
    }
    return this.#origins.has(origin) || isSameOrigin(headers) ? undefined : originRejection(origin)
  }
}

/** Reports whether a page of this server sends the request. */
export function isSameOrigin({ origin = '', host }: IncomingHttpHeaders): boolean {
  return URL.parse(origin)?.host === host
}

function originRejection(origin: string): string {
  return (
    `ACLs are off, and a page of ${origin} may not write here: ` +
    'http_api_cors_origins names the origins that may'
  )
}

/** `same-site` covers other ports of the same host, whose pages are not this server's. */
const FOREIGN_FETCH_SITES: ReadonlySet<string> = new Set(['cross-site', 'same-site'])

/** Routes that write with GET as well. */
const WRITING_GET_PATHS = new RegExp(
  Object.values<Route>(v1Routes)
    .filter(({ methods }) => methods.includes('GET') && methods.some((one) => one !== 'GET'))
    .map(({ path }) => `^${path.replaceAll(/:\w+/g, '[^/]+')}/?(?:[?#]|$)`)
    .join('|'),
  'i',
)

function changesState(url: string): boolean {
  if (!url.includes('%')) return WRITING_GET_PATHS.test(url)
  const [path = ''] = url.split(/[?#]/, 1)
  const decoded = path.replaceAll(/%([0-9a-f]{2})/gi, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return WRITING_GET_PATHS.test(decoded)
}

/** Safe methods: without CORS headers the browser hides the response from foreign pages. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Returns the name of a Host header, without its port. */
function hostName(host: string): string {
  const [, address] = /^\[([^\]]*)\](?::\d*)?$/.exec(host) ?? []
  const name = address ?? host.split(':', 1).join('')
  return name.toLowerCase().replace(/\.$/, '')
}

function isLocalName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./.test(address)
}

/** Methods and headers that pages of other origins may send, and headers that they may read. */
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const ALLOWED_HEADERS = ['Authorization', 'Content-Type', 'X-Request-Id', HEADERS.token]
const EXPOSED_HEADERS = [
  HEADERS.errorCode,
  HEADERS.index,
  HEADERS.knownLeader,
  HEADERS.lastContact,
  HEADERS.nextToken,
  HEADERS.truncated,
  'X-Request-Id',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]
const PREFLIGHT_SECONDS = '600'

type HeaderAliases = Pick<HttpAliases, 'requestHeaders' | 'responseHeaders'>

/**
 * Sets the CORS headers for pages of the configured origins. Returns true for a preflight request,
 * which needs no further response. Cookies are not used, so credentials are never allowed.
 */
export function applyCors(
  origins: readonly string[],
  request: FastifyRequest,
  reply: FastifyReply,
  { requestHeaders, responseHeaders }: HeaderAliases = NO_ALIASES.http,
): boolean {
  const { origin } = request.headers
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return false
  void reply.headers({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': [...EXPOSED_HEADERS, ...Object.values(responseHeaders)].join(
      ', ',
    ),
    vary: 'Origin',
  })
  const isPreflight = request.headers['access-control-request-method'] !== undefined
  if (request.method !== 'OPTIONS' || !isPreflight) return false
  void reply.headers({
    'access-control-allow-methods': ALLOWED_METHODS,
    'access-control-allow-headers': [...ALLOWED_HEADERS, ...Object.keys(requestHeaders)].join(', '),
    'access-control-max-age': PREFLIGHT_SECONDS,
  })
  return true
}
