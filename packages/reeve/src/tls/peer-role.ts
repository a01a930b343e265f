import { TLSSocket, type PeerCertificate } from 'node:tls'
import type { Duplex } from 'node:stream'

/** What an agent may be taken for by its certificate. */
export type PeerRole = 'server' | 'client'

/** The name that a certificate has to hold: `server.global.reeve`. Names know no case. */
export function roleName(role: PeerRole, region: string): string {
  return `${role}.${region}.reeve`.toLowerCase()
}

/**
 * What the other side of a connection has proved to be in a region: nothing without a certificate
 * that our authority signed. A server may do what a node may.
 */
export function peerRoles(socket: Duplex, region: string): ReadonlySet<PeerRole> {
  const roles = new Set<PeerRole>()
  if (!(socket instanceof TLSSocket) || !socket.authorized) return roles
  const names = certificateNames(socket.getPeerCertificate())
  if (names.includes(roleName('server', region))) roles.add('server').add('client')
  if (names.includes(roleName('client', region))) roles.add('client')
  return roles
}

/** Alternative names; the common name only where there are none (RFC 6125 §6.4.4). */
export function certificateNames({
  subject,
  subjectaltname,
}: Partial<PeerCertificate>): readonly string[] {
  const names = dnsNames(subjectaltname ?? '')
  if (names.length > 0) return names
  const common: unknown = subject?.CN
  return typeof common === 'string' ? [common.toLowerCase()] : []
}

/**
 * `DNS:a, IP Address:…, DNS:"b, DNS:c"`: a name that holds odd characters is quoted, and no role
 * has one.
 */
function dnsNames(text: string): readonly string[] {
  return text
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '?')
    .split(', ')
    .filter((one) => one.startsWith('DNS:') && !one.includes('?'))
    .map((one) => one.slice('DNS:'.length).toLowerCase())
}
