import type { ConnectionOptions } from 'node:tls'
import { WebSocket as SecureSocket } from 'ws'

/**
 * Opens WebSockets with TLS certificates, for `exec`; the built-in WebSocket does not accept any.
 */
export function createSecureWebSocket(tls: ConnectionOptions): (url: string) => WebSocket {
  return (url) => {
    const socket = new SecureSocket(url, { ...tls, perMessageDeflate: false })
    // Proof: it implements all that the client uses: listeners, send, close.
    return socket as unknown as WebSocket
  }
}
