import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { certificateErrorText } from '@reeve/kit/certificate-error.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { HttpLog } from './server.ts'

/** One place and one reason is told of once in this time, and so many in all: anybody can knock. */
const TOLD_AGAIN_MS = 60_000
const TOLD_MAX = 20

/** Says in the log who was turned away, and why: those who knock may not be able to read it. */
export class TurnedAway {
  readonly #log: HttpLog
  readonly #clock: Clock
  readonly #told = new Set<string>()
  #sinceMs = 0

  constructor({ log, clock }: { readonly log: HttpLog; readonly clock: Clock }) {
    this.#log = log
    this.#clock = clock
  }

  /**
   * Before anything was asked nothing can be said to them, and an operator would look for the
   * reason on the wrong side.
   */
  follow(server: Server): void {
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: unknown) => {
      if (!(socket instanceof TLSSocket)) return
      const why = reasonOf(error, socket)
      if (why !== undefined) this.tell(socket, why)
    })
  }

  /** The address is not known any more where the connection is gone already. */
  tell({ remoteAddress: address }: Socket, why: string): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#sinceMs >= TOLD_AGAIN_MS) {
      this.#told.clear()
      this.#sinceMs = nowMs
    }
    const key = `${address} ${why}`
    if (this.#told.has(key) || this.#told.size >= TOLD_MAX) return
    this.#told.add(key)
    this.#log.info?.({ address, why }, 'a connection was turned away')
  }
}

/** Undefined for those who left by themselves. */
function reasonOf(
  { code = '' }: NodeJS.ErrnoException,
  { authorizationError }: TLSSocket,
): string | undefined {
  // With `verify_https_client`; it is a code, whatever its type says.
  if (authorizationError)
    return `its certificate ${certificateErrorText(String(authorizationError), 'tls.ca_file', 'clientAuth')}`
  if (code === 'ERR_SSL_HTTP_REQUEST') return 'it speaks HTTP, and this port HTTPS'
  if (code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE') return 'it showed no certificate'
  return undefined
}
