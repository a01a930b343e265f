import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
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
  /** The address of whoever asked another server, which passed it on; undefined for all others. */
  callerOf(request: IncomingMessage): string | undefined
  /** Answers with what the leader answers. */
  forward(request: IncomingMessage, response: ServerResponse, told: Forwarding): void
  /** True when it was passed on or refused. */
  takeUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** False when an answer claims more than this server may by now. */
  stands(request: IncomingMessage): boolean
  freshness(): Freshness
}

/** What becomes of a request that is passed on; one of them is called, once. */
export interface Forwarding {
  /** The leader answers: from now on the response is written by the gate. */
  readonly answering: () => void
  /** It does not, for this reason: nothing was written. */
  readonly failed: (why: string) => void
}

/** What an answer says about its age. */
export interface Freshness {
  readonly lastContactMs: number
  readonly knownLeader: boolean
}

/** This server leads, or is the only one. */
export const FRESH: Freshness = { lastContactMs: 0, knownLeader: true }

const NO_LEADER = 'no leader: no server of the cluster leads at this moment; try again'
const DEPOSED = 'this server does not lead any more; try again'

/**
 * Before everything else: what is passed on must go as it came. `prepare` puts the headers on an
 * answer that every answer has.
 */
export function addGate(
  app: FastifyInstance,
  gate: Gate,
  prepare: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const answerer = gate.admit(request.raw)
    const caller = gate.callerOf(request.raw)
    // What audit and rate limit read: the server that passed it on is not who asks.
    if (caller !== undefined) Object.defineProperty(request, 'ip', { value: caller })
    if (answerer === 'here') return done()
    const refuse = (why: string): void => {
      prepare(request, reply)
      done(new Fault('no-leader', why))
    }
    if (answerer === 'nobody') return refuse(NO_LEADER)
    if (answerer === 'confirmed') return void confirm(gate, done, refuse)
    const answering = (): void => void reply.hijack()
    return gate.forward(request.raw, reply.raw, { answering, failed: refuse })
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode >= 500 || gate.stands(request.raw)) return done(null, payload)
    dropPayload(payload)
    void retract(reply)
    done(null, DEPOSED)
  })
}

async function confirm(gate: Gate, done: () => void, refuse: (why: string) => void): Promise<void> {
  // Without an answer of the storage nobody can say that this server leads.
  const isLeading = await gate.confirm().catch(() => false)
  if (isLeading) done()
  else refuse(DEPOSED)
}

function retract(reply: FastifyReply): FastifyReply {
  return reply.removeHeader('content-length').removeHeader('etag').code(503).type(TEXT_TYPE)
}

function dropPayload(payload: unknown): void {
  const destroy: unknown = typeof payload === 'object' ? Reflect.get(payload ?? {}, 'destroy') : 0
  if (typeof destroy === 'function') destroy.call(payload)
}
