import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import { connect, createServer, type TLSSocket } from 'node:tls'

/** A handshake in memory takes a few milliseconds. */
const VERIFY_TIMEOUT_MS = 10_000

interface CertificateMaterial {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Error codes of Node; undefined if the certificate is accepted. */
export interface ChainErrors {
  /** Error of a client that verifies the certificate as a server's. */
  readonly asServer: string | undefined
  /** Error of a server that verifies the certificate as a client's. */
  readonly asClient: string | undefined
}

/**
 * Verifies a certificate as other agents will: both sides of a handshake in memory present it and
 * trust only `ca`. So the TLS library itself checks chains, dates, constraints and key usages.
 */
export async function verifyChain(material: CertificateMaterial): Promise<ChainErrors> {
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
