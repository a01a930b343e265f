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
import { RegionProxy, type ForwardLimits } from './region-forwarder.ts'
import {
  parseForwardReason,
  parseVia,
  REGION_FORWARD_HEADER,
  REGION_VIA_HEADER,
} from './region-hop.ts'

/** Routes requests that another region answers to that region. */
export class RemoteRegionRouter implements RegionRouter {
  readonly regions: RegionDirectory
  readonly #proxy: RegionProxy

  constructor(
    directory: RegionDirectory,
    connections: RegionConnections,
    /** Limits other than those of `model/limits.ts`. */
    limits?: Partial<ForwardLimits>,
  ) {
    this.regions = directory
    this.#proxy = new RegionProxy(directory, connections, limits)
  }

  forwardReasonOf({ headers }: IncomingMessage): ForwardReason | undefined {
    return parseForwardReason(headers[REGION_FORWARD_HEADER])
  }

  forwardedBy({ headers }: IncomingMessage): AuditVia | undefined {
    // A client can send the header too; it counts only on forwarded requests.
    if (headers[REGION_FORWARD_HEADER] === undefined) return undefined
    return parseVia(headers[REGION_VIA_HEADER])
  }

  forward(
    request: IncomingMessage,
    response: ServerResponse,
    target: RegionTarget & ForwardCallbacks,
  ): void {
    this.#proxy.forward(request, response, target)
  }

  forwardUpgrade(request: IncomingMessage, socket: Duplex, target: RegionUpgrade): void {
    this.#proxy.forwardUpgrade(request, socket, target)
  }

  /** Ends the requests that are being forwarded. */
  close(): void {
    this.#proxy.close()
  }
}
