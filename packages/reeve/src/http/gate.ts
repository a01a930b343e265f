import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Fault } from '../kit/fault.ts'
import { TEXT_TYPE } from './answer.ts'

/**
 * Stands before the routes where several servers share one state: decides who answers a request.
 * Without one, this server answers everything.
 */
export interface Gate {
  /**
   * `here`: this server; `confirmed`: this server, once `confirm` said yes; `forward`: the leader;
   * `nobody`: there is no leader.
   */
  admit(request: IncomingMessage): 'here' | 'confirmed' | 'forward' | 'nobody'
  confirm(): Promise<boolean>
  /** Answers with what the leader answers. */
  forward(request: IncomingMessage, response: ServerResponse): void
  /** True when it was passed on or refused. */
  takeUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** False when an answer claims more than this server may by now. */
  stands(request: IncomingMessage): boolean
  freshness(): Freshness
}

/** What an answer says about its age (spec W: consistency). */
export interface Freshness {
  readonly lastContactMs: number
  readonly knownLeader: boolean
}

/** This server leads, or is the only one. */
export const FRESH: Freshness = { lastContactMs: 0, knownLeader: true }

const NO_LEADER = 'no leader: no server of the cluster leads at this moment; try again'
const DEPOSED = 'this server does not lead any more; try again'

/** Before everything else: what is passed on must go as it came. */
export function addGate(app: FastifyInstance, gate: Gate): void {
  app.addHook('onRequest', (request, reply, done) => {
    const answerer = gate.admit(request.raw)
    if (answerer === 'here') return done()
    if (answerer === 'nobody') return done(new Fault('no-leader', NO_LEADER))
    if (answerer === 'forward') {
      reply.hijack()
      return gate.forward(request.raw, reply.raw)
    }
    gate.confirm().then(
      (isLeading) => done(isLeading ? undefined : new Fault('no-leader', DEPOSED)),
      (thrown: unknown) => done(new Fault('no-leader', DEPOSED, { cause: thrown })),
    )
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode >= 500 || gate.stands(request.raw)) return done(null, payload)
    dropPayload(payload)
    void retract(reply)
    done(null, DEPOSED)
  })
}

function retract(reply: FastifyReply): FastifyReply {
  return reply.removeHeader('content-length').removeHeader('etag').code(503).type(TEXT_TYPE)
}

function dropPayload(payload: unknown): void {
  const destroy: unknown = typeof payload === 'object' ? Reflect.get(payload ?? {}, 'destroy') : 0
  if (typeof destroy === 'function') destroy.call(payload)
}
