import type { Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'

/**
 * TLS of a listening port. Without it the port speaks HTTP and clients are identified by tokens
 * only.
 */
export interface ListenerTls {
  /** TLS options: the certificate, and the client certificates that are requested. */
  secureContextOptions(): TlsOptions
  /** Calls the listener when the certificates change, until the returned function is called. */
  onReload(listener: () => void): () => void
  /**
   * Returns why the peer may not connect as a node, as a predicate of "this one"; undefined if it
   * may.
   */
  nodeProblem(socket: Socket): string | undefined
}
