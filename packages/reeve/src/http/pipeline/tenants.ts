import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import { HEADERS } from '@reeve/contract'

/**
 * Returns the owner of a secret, such as a token's accessor or a user; undefined if it is unknown.
 */
export type FindOwner = (secret: string) => string | undefined

/**
 * Maximum number of cached owners: hashing a secret for each request would be a tenth of a read.
 */
const OWNERS_CACHED_MAX = 10_000

/**
 * Finds the tenant charged for a request before it is authenticated: the owner of its token, or its
 * client address. A tenant has no permissions; it only determines how requests are queued and
 * limited.
 */
export class Tenants {
  readonly #findOwner: FindOwner
  readonly #owners = new Map<string, string>()

  constructor(findOwner: FindOwner) {
    this.#findOwner = findOwner
  }

  tenantOf(request: Pick<IncomingMessage, 'headers'>, address: string): string {
    const secret = tokenFrom(request)
    if (secret === undefined) return addressTenant(address)
    return this.#owners.get(secret) ?? this.#find(secret) ?? addressTenant(address)
  }

  #find(secret: string): string | undefined {
    const owner = this.#findOwner(secret)
    // Unknown secrets are not cached: clients can send any number of them.
    if (owner === undefined) return undefined
    if (this.#owners.size >= OWNERS_CACHED_MAX) {
      const [oldest] = this.#owners.keys()
      if (oldest !== undefined) this.#owners.delete(oldest)
    }
    this.#owners.set(secret, owner)
    return owner
  }
}

const ADDRESS_PREFIX = 'address:'

/**
 * Returns the tenant of an address. An IPv6 /64 network is one tenant: a client can use any of its
 * addresses.
 */
function addressTenant(address: string): string {
  // Most addresses have no colon, and the runtime's check is a long regular expression.
  const isNetworked = address.includes(':') && isIPv6(address)
  return ADDRESS_PREFIX + (isNetworked ? networkOf(address) : address)
}

/**
 * Reports whether a tenant was identified by its address, because its token is missing or unknown.
 */
export function isAddressTenant(tenant: string): boolean {
  return tenant.startsWith(ADDRESS_PREFIX)
}

const IPV6_GROUPS = 8
const NETWORK_GROUPS = 4
const IPV4_MAPPED_PREFIX = '::ffff:'

function networkOf(address: string): string {
  if (address.startsWith(IPV4_MAPPED_PREFIX) && address.includes('.'))
    return address.slice(IPV4_MAPPED_PREFIX.length)
  const [head = '', tail] = address.split('::', 2)
  const first = head.split(':').filter((group) => group !== '')
  const last = (tail ?? '').split(':').filter((group) => group !== '')
  const zeros = Array.from(
    { length: Math.max(0, IPV6_GROUPS - first.length - last.length) },
    () => '0',
  )
  return [...first, ...zeros, ...last].slice(0, NETWORK_GROUPS).join(':')
}

type Headers = Pick<IncomingMessage, 'headers'>

const TOKEN_HEADER = HEADERS.token.toLowerCase()

/** Returns the token of a request: from the token header, else from `Authorization: Bearer`. */
export function tokenFrom(request: Headers): string | undefined {
  const header = request.headers[TOKEN_HEADER]
  const token = (typeof header === 'string' ? header : header?.[0])?.trim() ?? ''
  return token === '' ? bearerToken(request) : token
}

/** Returns the token of `Authorization: Bearer`; the scheme is case-insensitive. */
export function bearerToken({ headers: { authorization } }: Headers): string | undefined {
  if (authorization === undefined) return undefined
  const [scheme, secret, ...more] = authorization.trim().split(/\s+/)
  return scheme?.toLowerCase() === 'bearer' && more.length === 0 ? secret : undefined
}
