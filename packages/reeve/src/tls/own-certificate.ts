import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { certificateErrorText, isUntrusted } from '@reeve/kit/certificate-error.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { certificateNames, roleName, roleNames } from './peer-role.ts'

/** Expectations that peers have of this agent's certificate. */
interface CertificateExpectation {
  readonly region: string
  readonly isServer: boolean
  /** Accepted domains of server names besides Reeve's own. */
  readonly otherDomains?: readonly string[]
  /** Whether clients verify the name of a server. */
  readonly verifiesServerName: boolean
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly nowMs: number
}

/** Throws a Fault if peers would reject the certificate. */
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

/** Returns a problem with the dates or names of the certificate; undefined if there is none. */
export function certificateProblem(
  certificate: X509Certificate,
  {
    region,
    isServer,
    verifiesServerName,
    otherDomains = [],
    nowMs,
  }: Pick<
    CertificateExpectation,
    'region' | 'isServer' | 'verifiesServerName' | 'otherDomains' | 'nowMs'
  >,
): string | undefined {
  const { validFromDate, validToDate } = certificate
  if (validToDate.getTime() < nowMs)
    return `is valid only until ${validToDate.toISOString()}. Put a new one there.`
  if (validFromDate.getTime() > nowMs)
    return `is valid only from ${validFromDate.toISOString()}. Look at the clock of this machine.`
  if (!isServer || !verifiesServerName) return undefined
  const expectedName = roleName('server', region)
  const accepted = roleNames('server', region, otherDomains)
  const names = certificateNames(certificate.toLegacyObject())
  if (accepted.some((name) => names.includes(name))) return undefined
  const actualNames = names.length === 0 ? 'no name' : names.join(', ')
  return `does not name this server ${expectedName}, but ${actualNames}. Other agents would reject it.`
}

/** Servers also act as clients: of each other and of other regions. */
function chainProblem(
  { asServer, asClient }: ChainErrors,
  { isServer, caFile }: CertificateExpectation,
): string | undefined {
  const code = (isServer ? asServer : undefined) ?? asClient
  if (code === undefined) return undefined
  const usage = code === asClient ? 'clientAuth' : 'serverAuth'
  const problem = certificateErrorText(code, String(caFile), usage)
  return `${problem}: other agents would reject it. ${chainAdvice(code)}`
}

function chainAdvice(code: string): string {
  if (isUntrusted(code))
    return (
      'Add the certificate of its authority to tls.ca_file, and intermediate certificates to ' +
      'tls.cert_file.'
    )
  if (code === 'INVALID_PURPOSE') return 'Issue one with extendedKeyUsage = serverAuth, clientAuth.'
  return 'Its own dates are right: look at those of its authorities.'
}

/** A handshake in memory takes a few milliseconds. */
const VERIFY_TIMEOUT_MS = 10_000

interface CertificateMaterial {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Error codes of Node; undefined if the certificate is accepted. */
interface ChainErrors {
  /** Error of a client that verifies the certificate as a server's. */
  readonly asServer: string | undefined
  /** Error of a server that verifies the certificate as a client's. */
  readonly asClient: string | undefined
}

/**
 * Verifies a certificate as other agents will: both sides of a handshake in memory present it and
 * trust only `ca`. So the TLS library itself checks chains, dates, constraints and key usages.
 */
async function verifyChain(material: CertificateMaterial): Promise<ChainErrors> {
  const [clientEnd, serverEnd] = duplexPair()
  const server = createServer({ ...material, requestCert: true, rejectUnauthorized: false })
  const signal = AbortSignal.timeout(VERIFY_TIMEOUT_MS)
  const accepted = once(server, 'secureConnection', { signal })
  server.emit('connection', serverEnd)
  const client = connect({
    ...material,
    socket: clientEnd,
    rejectUnauthorized: false,
    // Role names are validated separately.
    checkServerIdentity: () => undefined,
  })
  try {
    // The event carries the socket of the server.
    const [[peer]] = (await Promise.all([accepted, once(client, 'secureConnect', { signal })])) as [
      [TLSSocket],
      unknown,
    ]
    return { asServer: authorizationErrorCode(client), asClient: authorizationErrorCode(peer) }
  } finally {
    client.destroy()
    clientEnd.destroy()
    serverEnd.destroy()
  }
}

function authorizationErrorCode({ authorized, authorizationError }: TLSSocket): string | undefined {
  // Typed as an Error; the runtime stores its code.
  return authorized ? undefined : String(authorizationError)
}
