import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import { secretOf } from './credentials.ts'

/** The owner of a secret, such as a token's accessor or a user; undefined when it is unknown. */
export type FindOwner = (secret: string) => string | undefined

/** Secrets whose owner is cached: hashing a secret for each request would be a tenth of a read. */
const CACHED_MAX = 10_000

/**
 * Finds the tenant that a request is charged to, before it is authenticated: the owner of its
 * token, or its client address. A tenant has no rights; it is only who waits behind whom.
 */
export class Tenants {
  readonly #findOwner: FindOwner
  readonly #owners = new Map<string, string>()

  constructor(findOwner: FindOwner) {
    this.#findOwner = findOwner
  }

  tenantOf(request: Pick<IncomingMessage, 'headers'>, address: string): string {
    const secret = secretOf(request)
    if (secret === undefined) return addressTenant(address)
    return this.#owners.get(secret) ?? this.#find(secret) ?? addressTenant(address)
  }

  #find(secret: string): string | undefined {
    const owner = this.#findOwner(secret)
    // Unknown secrets are not cached: anybody can send as many as they like.
    if (owner === undefined) return undefined
    if (this.#owners.size >= CACHED_MAX) {
      const [oldest] = this.#owners.keys()
      if (oldest !== undefined) this.#owners.delete(oldest)
    }
    this.#owners.set(secret, owner)
    return owner
  }
}

const ADDRESS = 'address:'

/** A network of IPv6 is one tenant: a client has as many addresses of its /64 as it likes. */
function addressTenant(address: string): string {
  // Most addresses have no colon: the check of the runtime is a long regular expression.
  const isNetworked = address.includes(':') && isIPv6(address)
  return ADDRESS + (isNetworked ? networkOf(address) : address)
}

/** Whether a tenant was found by its address: nobody knows its token, if it has one. */
export function isAddress(tenant: string): boolean {
  return tenant.startsWith(ADDRESS)
}

const GROUPS = 8
const NETWORK_GROUPS = 4
const MAPPED = '::ffff:'

function networkOf(address: string): string {
  if (address.startsWith(MAPPED) && address.includes('.')) return address.slice(MAPPED.length)
  const [head = '', tail] = address.split('::', 2)
  const first = head.split(':').filter((group) => group !== '')
  const last = (tail ?? '').split(':').filter((group) => group !== '')
  const zeros = Array.from({ length: Math.max(0, GROUPS - first.length - last.length) }, () => '0')
  return [...first, ...zeros, ...last].slice(0, NETWORK_GROUPS).join(':')
}
