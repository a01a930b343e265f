import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AuditVia } from '@reeve/contract'
import type {
  ForwardCallbacks,
  ForwardReason,
  RegionRouter,
  RegionTarget,
  RegionUpgrade,
} from '../http/index.ts'
import type { RegionConnections } from './region-connection.ts'
import type { RegionDirectory } from './region-directory.ts'
import { RegionForwarder, type ForwardLimits } from './region-forwarder.ts'
import { readRegionHop, readVia, REGION_HOP_HEADER, REGION_VIA_HEADER } from './region-hop.ts'

/** Sends the requests that another region answers there. */
export class RegionGate implements RegionRouter {
  readonly regions: RegionDirectory
  readonly #forwarder: RegionForwarder

  constructor(
    directory: RegionDirectory,
    connections: RegionConnections,
    /** Those of `model/limits.ts` unless given. */
    limits?: Partial<ForwardLimits>,
  ) {
    this.regions = directory
    this.#forwarder = new RegionForwarder(directory, connections, limits)
  }

  forwardReasonOf({ headers }: IncomingMessage): ForwardReason | undefined {
    return readRegionHop(headers[REGION_HOP_HEADER])
  }

  forwardedBy({ headers }: IncomingMessage): AuditVia | undefined {
    // A client can send the header too; it counts only on forwarded requests.
    if (headers[REGION_HOP_HEADER] === undefined) return undefined
    return readVia(headers[REGION_VIA_HEADER])
  }

  forward(
    request: IncomingMessage,
    response: ServerResponse,
    target: RegionTarget & ForwardCallbacks,
  ): void {
    this.#forwarder.forward(request, response, target)
  }

  forwardUpgrade(request: IncomingMessage, socket: Duplex, target: RegionUpgrade): void {
    this.#forwarder.forwardUpgrade(request, socket, target)
  }

  /** Ends the requests that are being forwarded. */
  close(): void {
    this.#forwarder.close()
  }
}
