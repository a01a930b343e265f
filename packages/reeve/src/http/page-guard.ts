import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

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

  #originProblem({ headers, method }: IncomingMessage): string | undefined {
    const { origin } = headers
    if (origin === undefined || READING.has(method ?? '')) return undefined
    if (this.#origins.has(origin) || this.#origins.has('*')) return undefined
    if (isOwnPage(headers)) return undefined
    return (
      `ACLs are off, and a page of ${origin} may not write here: ` +
      'http_api_cors_origins names the origins that may'
    )
  }
}

/** Whether a page that this server served asks. */
export function isOwnPage({ origin = '', host }: IncomingHttpHeaders): boolean {
  return URL.parse(origin)?.host === host
}

/** What these answer, no page of elsewhere can read. */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Of a Host header, without its port. */
function nameIn(host: string): string {
  const name = host.startsWith('[') ? host.slice(1, host.indexOf(']')) : host.split(':', 1).join('')
  return name.toLowerCase().replace(/\.$/, '')
}

function isLocalName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./.test(address)
}
