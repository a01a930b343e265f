import type { X509Certificate } from 'node:crypto'
import { Fault } from '../kit/fault.ts'
import { namesOf, roleName } from './peer-role.ts'

export interface OwnCertificate {
  readonly region: string
  readonly isServer: boolean
  /** Whether whoever dials a server looks for its name. */
  readonly verifiesServerName: boolean
  readonly certFile: string | undefined
  readonly nowMs: number
}

/** Refuses with a Fault what every other agent would turn away. */
export function assertOwnCertificate(certificate: X509Certificate, own: OwnCertificate): void {
  const why = whyNotOwn(certificate, own)
  if (why !== undefined) throw new Fault('tls', `The certificate of ${own.certFile} ${why}`)
}

function whyNotOwn(
  certificate: X509Certificate,
  { region, isServer, verifiesServerName, nowMs }: OwnCertificate,
): string | undefined {
  const { validFromDate, validToDate } = certificate
  if (validToDate.getTime() < nowMs)
    return `is valid only until ${validToDate.toISOString()}. Put a new one there.`
  if (validFromDate.getTime() > nowMs)
    return `is valid only from ${validFromDate.toISOString()}. Look at the clock of this machine.`
  if (!isServer || !verifiesServerName) return undefined
  const wanted = roleName('server', region)
  const names = namesOf(certificate.toLegacyObject())
  if (names.includes(wanted)) return undefined
  const found = names.length === 0 ? 'no name' : names.join(', ')
  return `does not name this server ${wanted}, but ${found}. Others would not believe it.`
}
