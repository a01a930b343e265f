import type { ConnectionOptions } from 'node:tls'
import { WebSocket as SecureSocket } from 'ws'

/** For `exec`: a WebSocket with certificates of one's own, which the platform's cannot be given. */
export function secureSocket(tls: ConnectionOptions): (url: string) => WebSocket {
  return (url) => {
    const socket = new SecureSocket(url, { ...tls, perMessageDeflate: false })
    // It does what the platform's does as far as the client asks: listeners, send, close.
    return socket as unknown as WebSocket
  }
}
