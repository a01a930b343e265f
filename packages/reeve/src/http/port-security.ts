import type { Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'

/** A port that speaks HTTPS; without one it speaks HTTP and everybody is who the tokens say. */
export interface PortSecurity {
  /** How it proves itself, and whose certificates it asks for. */
  listenOptions(): TlsOptions
  /** Calls when the certificates are other ones, until the returned function is called. */
  onReload(changed: () => void): () => void
  /** Why the peer may not connect as a node; undefined where it may. Reads after "this one". */
  nodeProblem(socket: Socket): string | undefined
}
