import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AuditVia } from '@reeve/contract'
import type { RegionConnections } from './region-connection.ts'
import type { RegionDirectory } from './region-directory.ts'
import { RegionForwarder, type RegionForwarding, type RegionTarget } from './region-forwarder.ts'
import {
  readRegionHop,
  readVia,
  REGION_HOP_HEADER,
  REGION_VIA_HEADER,
  type RegionHop,
} from './region-hop.ts'
import { routeRequest, toAuthority, type RegionRoute } from './route-request.ts'

/** Stands before the routes, and sends what is for another region there. */
export class RegionGate {
  readonly #directory: RegionDirectory
  readonly #forwarder: RegionForwarder

  constructor(
    directory: RegionDirectory,
    connections: RegionConnections,
    /** How long a server may take to begin an answer; a minute unless given. */
    answerMsMax?: number,
  ) {
    this.#directory = directory
    this.#forwarder = new RegionForwarder(directory, connections, answerMsMax)
  }

  /** Every region that is known, sorted. */
  get names(): readonly string[] {
    return this.#directory.names
  }

  isOther(region: string): boolean {
    return this.#directory.isOther(region)
  }

  hopOf({ headers }: IncomingMessage): RegionHop | undefined {
    return readRegionHop(headers[REGION_HOP_HEADER])
  }

  /** Kept of what came by a hop: it says nothing of anybody else. */
  viaOf({ headers }: IncomingMessage): AuditVia | undefined {
    if (headers[REGION_HOP_HEADER] === undefined) return undefined
    return readVia(headers[REGION_VIA_HEADER])
  }

  /** As far as the address of a request tells. */
  route(request: IncomingMessage): RegionRoute {
    const { method = 'GET', url = '/' } = request
    return routeRequest({ method, url, hop: this.hopOf(request) }, this.#directory)
  }

  /** For what turned out to be the authoritative region's to write. */
  routeToAuthority(request: IncomingMessage): RegionRoute {
    return toAuthority(this.hopOf(request), this.#directory)
  }

  forward(
    request: IncomingMessage,
    response: ServerResponse,
    to: RegionTarget & RegionForwarding,
  ): void {
    this.#forwarder.forward(request, response, to)
  }

  /** True when it was passed on. */
  takeUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const route = this.route(request)
    if (route.kind !== 'pass') return false
    this.#forwarder.forwardUpgrade(request, socket, { ...route, head })
    return true
  }

  /** Ends what is being passed on. */
  close(): void {
    this.#forwarder.close()
  }
}
