import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { v1Routes, type Route } from '@reeve/contract'

export interface PageGuardOptions {
  /** Origins whose pages may do what their user may; `*` is any. */
  readonly corsOrigins: readonly string[]
  /** How callers reach this server through a proxy; may be empty. */
  readonly externalUrl: string
}

/**
 * Keeps pages of other websites away from a server that asks nobody for a token. A browser lets any
 * page send a form anywhere, and a page whose name was made to lead to this machine read the answer
 * too: whoever opens it has the rights of everybody who reaches the server.
 */
export class PageGuard {
  readonly #origins: ReadonlySet<string>
  readonly #names: ReadonlySet<string>

  constructor({ corsOrigins, externalUrl }: PageGuardOptions) {
    const own = URL.parse(externalUrl)
    this.#origins = new Set(own === null ? corsOrigins : [...corsOrigins, own.origin])
    this.#names = new Set(own === null ? [] : [own.hostname])
  }

  /** Why a request is refused; undefined when it may pass. */
  problemOf(request: IncomingMessage): string | undefined {
    return this.nameProblem(request) ?? this.#originProblem(request)
  }

  /**
   * A name that was made to lead here. An address cannot be: its page comes from this server. Where
   * others reach the server by its name too, any may be meant.
   */
  nameProblem({ headers, socket }: IncomingMessage): string | undefined {
    if (!isLoopback(socket.localAddress ?? '')) return undefined
    const name = nameIn(headers.host ?? '')
    if (name === '' || isIP(name) !== 0 || isLocalName(name) || this.#names.has(name))
      return undefined
    return (
      `ACLs are off, and ${JSON.stringify(name)} is no name of this server: ask by its address or ` +
      'localhost, or let http_api_external_url tell that name'
    )
  }

  #originProblem({ headers, method = '', url = '' }: IncomingMessage): string | undefined {
    if (READING.has(method) && !(method !== 'OPTIONS' && changesState(url))) return undefined
    const { origin } = headers
    if (this.#origins.has('*')) return undefined
    if (origin === undefined) {
      // An image or a link has no origin, but browsers say from where it is loaded.
      const isForeign = FOREIGN_SITES.has(String(headers['sec-fetch-site']))
      return isForeign ? refusal('another website') : undefined
    }
    return this.#origins.has(origin) || isOwnPage(headers) ? undefined : refusal(origin)
  }
}

/** Whether a page that this server served asks. */
export function isOwnPage({ origin = '', host }: IncomingHttpHeaders): boolean {
  return URL.parse(origin)?.host === host
}

function refusal(origin: string): string {
  return (
    `ACLs are off, and a page of ${origin} may not write here: ` +
    'http_api_cors_origins names the origins that may'
  )
}

/** Another port of the same machine is the same site, and not a page of this server. */
const FOREIGN_SITES: ReadonlySet<string> = new Set(['cross-site', 'same-site'])

/** Routes that do the same for GET as for the methods that write. */
const CHANGING_GETS = new RegExp(
  Object.values<Route>(v1Routes)
    .filter(({ methods }) => methods.includes('GET') && methods.some((one) => one !== 'GET'))
    .map(({ path }) => `^${path.replaceAll(/:\w+/g, '[^/]+')}/?(?:[?#]|$)`)
    .join('|'),
  'i',
)

function changesState(url: string): boolean {
  if (!url.includes('%')) return CHANGING_GETS.test(url)
  const [path = ''] = url.split(/[?#]/, 1)
  const decoded = path.replaceAll(/%([0-9a-f]{2})/gi, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return CHANGING_GETS.test(decoded)
}

/** What these answer, no page of elsewhere can read. */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Of a Host header, without its port. */
function nameIn(host: string): string {
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
