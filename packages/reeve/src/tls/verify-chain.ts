import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import { connect, createServer, type TLSSocket } from 'node:tls'

/** In memory it takes a few milliseconds. */
const HANDSHAKE_MS_MAX = 10_000

interface CertificateMaterial {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Error codes of the runtime; undefined where the certificate is accepted. */
export interface ChainErrors {
  /** Of a client that verifies the certificate as that of a server. */
  readonly asServer: string | undefined
  /** Of a server that verifies it as that of a client. */
  readonly asClient: string | undefined
}

/**
 * Verifies a certificate as the other agents will: both sides of a handshake in memory present it,
 * and trust `ca` only. So chains, dates, constraints and key usages are those of the TLS library.
 */
export async function verifyChain(material: CertificateMaterial): Promise<ChainErrors> {
  const [near, far] = duplexPair()
  const server = createServer({ ...material, requestCert: true, rejectUnauthorized: false })
  const signal = AbortSignal.timeout(HANDSHAKE_MS_MAX)
  const accepted = once(server, 'secureConnection', { signal })
  server.emit('connection', far)
  const client = connect({
    ...material,
    socket: near,
    rejectUnauthorized: false,
    // Names are another matter: roles are validated on their own.
    checkServerIdentity: () => undefined,
  })
  try {
    // The event carries the socket of the server.
    const [[peer]] = (await Promise.all([accepted, once(client, 'secureConnect', { signal })])) as [
      [TLSSocket],
      unknown,
    ]
    return { asServer: errorOf(client), asClient: errorOf(peer) }
  } finally {
    client.destroy()
    near.destroy()
    far.destroy()
  }
}

function errorOf({ authorized, authorizationError }: TLSSocket): string | undefined {
  // Typed as an Error; the runtime stores its code.
  return authorized ? undefined : String(authorizationError)
}
