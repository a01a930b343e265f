import { X509Certificate } from 'node:crypto'
import { Fault } from '../kit/fault.ts'
import { certificateNames, roleName } from './peer-role.ts'
import { verifyChain, type ChainErrors } from './verify-chain.ts'

/** What the other agents expect of a certificate. */
export interface CertificateExpectation {
  readonly region: string
  readonly isServer: boolean
  /** Whether clients of a server verify its name. */
  readonly verifiesServerName: boolean
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly nowMs: number
}

/** Throws a Fault for a certificate that the other agents would reject. */
export async function validateOwnCertificate(
  material: { readonly ca: string; readonly cert: string; readonly key: string },
  expected: CertificateExpectation,
): Promise<void> {
  const certificate = new X509Certificate(material.cert)
  const problem =
    certificateProblem(certificate, expected) ?? chainProblem(await verifyChain(material), expected)
  if (problem !== undefined)
    throw new Fault('tls', `The certificate of ${expected.certFile} ${problem}`)
}

/** What its dates and names lack. */
export function certificateProblem(
  certificate: X509Certificate,
  {
    region,
    isServer,
    verifiesServerName,
    nowMs,
  }: Pick<CertificateExpectation, 'region' | 'isServer' | 'verifiesServerName' | 'nowMs'>,
): string | undefined {
  const { validFromDate, validToDate } = certificate
  if (validToDate.getTime() < nowMs)
    return `is valid only until ${validToDate.toISOString()}. Put a new one there.`
  if (validFromDate.getTime() > nowMs)
    return `is valid only from ${validFromDate.toISOString()}. Look at the clock of this machine.`
  if (!isServer || !verifiesServerName) return undefined
  const wanted = roleName('server', region)
  const names = certificateNames(certificate.toLegacyObject())
  if (names.includes(wanted)) return undefined
  const found = names.length === 0 ? 'no name' : names.join(', ')
  return `does not name this server ${wanted}, but ${found}. Other agents would reject it.`
}

/** Servers are also clients: of each other, and of other regions. */
function chainProblem(
  { asServer, asClient }: ChainErrors,
  { isServer, caFile }: CertificateExpectation,
): string | undefined {
  const code = (isServer ? asServer : undefined) ?? asClient
  if (code === undefined) return undefined
  if (UNTRUSTED_CODES.has(code))
    return (
      `is not signed by an authority of ${caFile}: other agents would reject it. Add the ` +
      'certificate of its authority to tls.ca_file, and intermediate certificates to tls.cert_file.'
    )
  if (code === 'INVALID_PURPOSE')
    return (
      `has an extended key usage without ${code === asClient ? 'clientAuth' : 'serverAuth'}: ` +
      'other agents would reject it. Issue one with extendedKeyUsage = serverAuth, clientAuth.'
    )
  if (code === 'CERT_HAS_EXPIRED')
    return `is signed by an authority of ${caFile} that has expired. Renew the authority.`
  return `is rejected with the authorities of ${caFile}: ${code}.`
}

/** Codes of the TLS library for a certificate that none of the trusted authorities has signed. */
const UNTRUSTED_CODES: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])
