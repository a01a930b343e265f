import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AuditVia } from '@reeve/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../kit/fault.ts'
import { REGION_UNREACHED } from '../workload/index.ts'
import type { Forwarding } from './gate.ts'
import { HttpError } from './http-error.ts'

/** Knows other regions, and passes requests on to them. Without one there is this region alone. */
export interface RegionGate {
  /** Every region that is known, sorted. */
  readonly names: readonly string[]
  /** A region that is not this one, and that can be asked. */
  isOther(region: string): boolean
  /** Why another region has sent it; undefined when a caller has. */
  hopOf(request: IncomingMessage): RegionHop | undefined
  /** Which region says that it has sent it, and for whom; undefined when a caller has. */
  viaOf(request: IncomingMessage): AuditVia | undefined
  /** As far as the address of a request tells. */
  route(request: IncomingMessage): RegionRoute
  /** For what turned out to be the authoritative region's to write. */
  routeToAuthority(request: IncomingMessage): RegionRoute
  forward(request: IncomingMessage, response: ServerResponse, to: RegionTarget & Forwarding): void
  /** True when it was passed on. */
  takeUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  close(): void
}

/**
 * `named`: for its region; `authority`: what is written in the authoritative region only; `part`:
 * what concerns one region of a multi-region job.
 */
type RegionHop = 'named' | 'authority' | 'part'

export type RegionRoute =
  | { readonly kind: 'here' }
  | { readonly kind: 'pass'; readonly region: string; readonly hop: RegionHop }
  | { readonly kind: 'refuse'; readonly text: string }

interface RegionTarget {
  readonly region: string
  readonly hop: RegionHop
  /** What was read of the request already, inflated. */
  readonly body?: Buffer | undefined
}

/** Two regions take each other for the authoritative one. */
const MISDIRECTED = 421

/**
 * Before everything else, also before the servers of this region share a request out: what is for
 * another region must go as it came. `prepare` puts the headers on that every answer has.
 */
export function addRegionGate(
  app: FastifyInstance,
  gate: RegionGate,
  prepare: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const route = gate.route(request.raw)
    if (route.kind === 'here') return done()
    const refuse = (error: Error): void => {
      prepare(request, reply)
      done(error)
    }
    if (route.kind === 'refuse') return refuse(new HttpError(MISDIRECTED, route.text))
    gate.forward(request.raw, reply.raw, {
      ...route,
      answering: () => void reply.hijack(),
      failed: (why) => refuse(new Fault(REGION_UNREACHED, why)),
    })
  })
}

interface PassedRequest {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly body: Buffer
}

/** For a request whose body was read and says where it belongs. False when that is here. */
export function passOn(
  gate: RegionGate,
  { request, reply, body }: PassedRequest,
  route: RegionRoute,
): boolean {
  if (route.kind === 'here') return false
  if (route.kind === 'refuse') {
    void reply.send(new HttpError(MISDIRECTED, route.text))
    return true
  }
  gate.forward(request.raw, reply.raw, {
    ...route,
    body,
    answering: () => void reply.hijack(),
    failed: (why) => void reply.send(new Fault(REGION_UNREACHED, why)),
  })
  return true
}
