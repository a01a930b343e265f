import { TLSSocket, type PeerCertificate } from 'node:tls'
import type { Duplex } from 'node:stream'
import { certificateErrorText } from '@reeve/kit/certificate-error.ts'

/** Role of an agent, as proved by its certificate. */
type PeerRole = 'server' | 'client'

/**
 * Returns the name that a certificate must contain: `server.global.reeve`. Names are
 * case-insensitive.
 */
export function roleName(role: PeerRole, region: string): string {
  return `${role}.${region}.reeve`.toLowerCase()
}

/** Returns the name of a role and its equivalents in other domains. */
export function roleNames(
  role: PeerRole,
  region: string,
  otherDomains: readonly string[],
): readonly string[] {
  const aliasNames = otherDomains.map((domain) => `${role}.${region}.${domain}`.toLowerCase())
  return [roleName(role, region), ...aliasNames]
}

/**
 * Returns the roles that the peer has proved in a region; none without a certificate signed by this
 * cluster's CA. A server may act as a node.
 */
export function peerRoles(
  socket: Duplex,
  region: string,
  otherDomains: readonly string[] = [],
): ReadonlySet<PeerRole> {
  const roles = new Set<PeerRole>()
  if (!(socket instanceof TLSSocket) || !socket.authorized) return roles
  const names = certificateNames(socket.getPeerCertificate())
  const isNamed = (role: PeerRole): boolean =>
    roleNames(role, region, otherDomains).some((name) => names.includes(name))
  if (isNamed('server')) roles.add('server').add('client')
  if (isNamed('client')) roles.add('client')
  return roles
}

/** Returns why the peer's certificate does not prove a role; undefined if it does. */
export function roleProblem(
  socket: Duplex,
  role: PeerRole,
  region: string,
  otherDomains: readonly string[] = [],
): string | undefined {
  if (peerRoles(socket, region, otherDomains).has(role)) return undefined
  const certificate = socket instanceof TLSSocket ? socket.getPeerCertificate() : {}
  if (!(socket instanceof TLSSocket) || Object.keys(certificate).length === 0) return 'shows none'
  if (!socket.authorized) {
    // Typed as an Error, but the runtime stores the code.
    const code = String(socket.authorizationError)
    return certificateErrorText(code, 'tls.ca_file of the server', 'clientAuth')
  }
  const names = certificateNames(certificate)
  return names.length === 0 ? 'has no name' : `names ${names.slice(0, NAMES_MAX).join(', ')}`
}

/** Maximum number of certificate names in a message. */
const NAMES_MAX = 4

/** Returns the alternative names; the common name only if there are none (RFC 6125 §6.4.4). */
export function certificateNames({
  subject,
  subjectaltname,
}: Partial<PeerCertificate>): readonly string[] {
  const names = dnsNames(subjectaltname ?? '')
  if (names.length > 0) return names
  const commonName: unknown = subject?.CN
  return typeof commonName === 'string' ? [commonName.toLowerCase()] : []
}

/**
 * Parses `DNS:a, IP Address:…, DNS:"b, DNS:c"`: names with special characters are quoted, and no
 * role has one.
 */
function dnsNames(text: string): readonly string[] {
  return text
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '?')
    .split(', ')
    .filter((entry) => entry.startsWith('DNS:') && !entry.includes('?'))
    .map((entry) => entry.slice('DNS:'.length).toLowerCase())
}
