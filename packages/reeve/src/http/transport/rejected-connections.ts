import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { certificateErrorText } from '@reeve/kit/certificate-error.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Logger } from '@reeve/kit/log.ts'

/**
 * Log each pair of address and reason once a minute, at most 20 in total: clients control the rate.
 */
const LOG_INTERVAL_MS = 60_000
const LOGGED_MAX = 20

/** Logs rejected connections with the reason, which the client may be unable to read. */
export class RejectedConnectionLog {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #logged = new Set<string>()
  #sinceMs = 0

  constructor({ log, clock }: { readonly log: Logger; readonly clock: Clock }) {
    this.#log = log
    this.#clock = clock
  }

  /**
   * Logs failed TLS handshakes: no error response can be sent for them, and the client's error is
   * often misleading.
   */
  logTlsErrors(server: Server): void {
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: unknown) => {
      if (!(socket instanceof TLSSocket)) return
      const reason = reasonOf(error, socket)
      if (reason !== undefined) this.log(socket, reason)
    })
  }

  /** Logs a rejected connection. The address is undefined if the connection is already closed. */
  log({ remoteAddress: address }: Socket, reason: string): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#sinceMs >= LOG_INTERVAL_MS) {
      this.#logged.clear()
      this.#sinceMs = nowMs
    }
    const key = `${address} ${reason}`
    if (this.#logged.has(key) || this.#logged.size >= LOGGED_MAX) return
    this.#logged.add(key)
    this.#log.info({ address, why: reason }, 'rejected a connection')
  }
}

/** Returns the reason for a failed handshake; undefined if the client disconnected. */
function reasonOf(
  { code = '' }: NodeJS.ErrnoException,
  { authorizationError }: TLSSocket,
): string | undefined {
  // Set with `verify_https_client`; a code, in spite of its type.
  if (authorizationError)
    return `its certificate ${certificateErrorText(String(authorizationError), 'tls.ca_file', 'clientAuth')}`
  if (code === 'ERR_SSL_HTTP_REQUEST') return 'it sent plain HTTP to an HTTPS port'
  if (code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE') return 'it presented no certificate'
  return undefined
}
