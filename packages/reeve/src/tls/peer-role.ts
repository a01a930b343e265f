import { TLSSocket, type PeerCertificate } from 'node:tls'
import type { Duplex } from 'node:stream'
import { certificateErrorText } from '@reeve/kit/certificate-error.ts'

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

/** What the certificate of the other side lacks for a role; undefined where it has proved it. */
export function roleProblem(socket: Duplex, role: PeerRole, region: string): string | undefined {
  if (peerRoles(socket, region).has(role)) return undefined
  const certificate = socket instanceof TLSSocket ? socket.getPeerCertificate() : {}
  if (!(socket instanceof TLSSocket) || Object.keys(certificate).length === 0) return 'shows none'
  if (!socket.authorized) {
    // Typed as an Error; the runtime stores its code.
    const code = String(socket.authorizationError)
    return certificateErrorText(code, 'tls.ca_file of the server', 'clientAuth')
  }
  const names = certificateNames(certificate)
  return names.length === 0 ? 'has no name' : `names ${names.slice(0, NAMES_MAX).join(', ')}`
}

/** Names of a certificate that a message lists. */
const NAMES_MAX = 4

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
