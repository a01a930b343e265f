import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { RouteHandling } from '@reeve/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '@reeve/kit/fault.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import { REGION_UNREACHABLE } from '../../workload/index.ts'
import { rejectUpgrade } from '../response.ts'
import { HttpError } from '../response.ts'
import { firstValue, isFlagSet, type RawQuery } from '../query.ts'
import { HTTP_STATUS } from '../v1/errors.ts'
import {
  DEPOSED_MESSAGE,
  NO_LEADER_MESSAGE,
  noLeaderFault,
  type LeaderRouter,
  type ReadConsistency,
} from './leader-routing.ts'
import {
  chooseRegion,
  type KnownRegions,
  type RegionRoute,
  type RegionRouter,
  type RegionTarget,
} from './region-routing.ts'

const NO_PATH_TO_REGION: Refusal = refusal('region-unknown', 'No path to region')
/** Status if two regions take each other for the authoritative one. */
const MISDIRECTED = 421

/** The properties of a route that decide where it is answered. */
export interface RoutedRoute {
  readonly handling: RouteHandling
  readonly isRead: boolean
}

interface RoutingOptions {
  /** Name of this server's region. */
  readonly region: string
  /** Undefined if this is the only server. */
  readonly leader: LeaderRouter | undefined
  /** Undefined if no other region is configured. */
  readonly regions: RegionRouter | undefined
}

type Done = (error?: Error) => void

/**
 * Stage that decides which server answers a request: first the region, then a server of that
 * region. Requests for other servers are forwarded unchanged, before their body is read.
 */
export class RequestRouting {
  readonly regions: KnownRegions
  readonly #leader: LeaderRouter | undefined
  readonly #router: RegionRouter | undefined

  constructor({ region, leader, regions }: RoutingOptions) {
    this.#leader = leader
    this.#router = regions
    this.regions = regions?.regions ?? {
      localRegion: region,
      authoritative: region,
      isRemote: () => false,
    }
  }

  /** Calls `done` if this server answers the request. */
  route(request: FastifyRequest, reply: FastifyReply, routed: RoutedRoute, done: Done): void {
    // Fastify's query parser gives strings and arrays of strings.
    const query = request.query as RawQuery
    const route = this.#regionRoute(request.raw, routed.handling, firstValue(query['region']))
    if (route.kind === 'local') return this.#routeToLeader(request, reply, routed, done)
    this.#answerElsewhere(request, reply, route, done)
  }

  /** For requests whose body names the region. Returns true if another region answers. */
  forwardIfRemote(
    request: FastifyRequest,
    reply: FastifyReply,
    route: RegionRoute,
    body: Buffer,
  ): boolean {
    if (route.kind === 'local') return false
    this.#answerElsewhere(request, reply, route, (error) => void reply.send(error), body)
    return true
  }

  /** Routes a WebSocket upgrade. Returns true if another server answers. */
  routeUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    { handling }: RoutedRoute,
  ): boolean {
    const query = new URLSearchParams(request.url?.split('?', 2)[1] ?? '')
    const route = this.#regionRoute(request, handling, query.get('region') ?? '')
    if (route.kind === 'local') return this.#routeUpgradeToLeader(request, socket, head, handling)
    if (route.kind === 'forward') this.#router?.forwardUpgrade(request, socket, { ...route, head })
    else {
      const { statusCode, message } = regionError(route)
      rejectUpgrade(socket, { status: statusCode, message })
    }
    return true
  }

  #regionRoute(request: IncomingMessage, { region }: RouteHandling, named: string): RegionRoute {
    return chooseRegion(region, named, this.#router?.forwardReasonOf(request), this.regions)
  }

  #answerElsewhere(
    request: FastifyRequest,
    reply: FastifyReply,
    route: Exclude<RegionRoute, { kind: 'local' }>,
    onError: (error: Error) => void,
    body?: Buffer,
  ): void {
    if (route.kind !== 'forward') return onError(regionError(route))
    const target: RegionTarget = { ...route, body }
    this.#router?.forward(request.raw, reply.raw, {
      ...target,
      onResponse: () => void reply.hijack(),
      onFailure: (reason) => onError(new Fault(REGION_UNREACHABLE, reason)),
    })
  }

  #routeToLeader(
    request: FastifyRequest,
    reply: FastifyReply,
    routed: RoutedRoute,
    done: Done,
  ): void {
    const leader = this.#leader
    if (leader === undefined) return done()
    // Fastify's query parser gives strings and arrays of strings.
    const consistency = consistencyOf(routed, request.query as RawQuery)
    const { server } = consistency
    switch (leader.route(request.raw, consistency)) {
      case 'local':
        return done()
      case 'no-leader':
        return done(noLeaderFault(NO_LEADER_MESSAGE))
      case 'linearizable':
        return void confirmLeadership(leader, done)
      case 'forward':
        leader.forward(request.raw, reply.raw, {
          server,
          onResponse: () => void reply.hijack(),
          onFailure: (reason) => done(noLeaderFault(reason)),
        })
    }
  }

  #routeUpgradeToLeader(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    handling: RouteHandling,
  ): boolean {
    // WebSocket routes do not support `server_id`.
    const answeredBy = handling.answeredBy === 'named' ? 'self' : handling.answeredBy
    const consistency = { answeredBy, isRead: true, isStale: false, isConsistent: false }
    const route = this.#leader?.route(request, consistency) ?? 'local'
    if (route === 'forward') this.#leader?.forwardUpgrade(request, socket, head)
    if (route === 'no-leader') rejectUpgrade(socket, { status: 503, message: NO_LEADER_MESSAGE })
    return route === 'forward' || route === 'no-leader'
  }
}

async function confirmLeadership(leader: LeaderRouter, done: Done): Promise<void> {
  // If the storage does not respond, the leadership is not confirmed.
  const isLeading = await leader.confirmLeadership().catch(() => false)
  done(isLeading ? undefined : noLeaderFault(DEPOSED_MESSAGE))
}

function consistencyOf({ handling, isRead }: RoutedRoute, query: RawQuery): ReadConsistency {
  return {
    ...resolveServer(handling, query),
    isRead,
    isStale: isFlagSet(query['stale']),
    isConsistent: isFlagSet(query['consistent']),
  }
}

/**
 * Resolves the server of a route with `answeredBy: 'named'`. Requests about a node go to the
 * leader, which holds the node's connection.
 */
function resolveServer(
  { answeredBy }: RouteHandling,
  query: RawQuery,
): Pick<ReadConsistency, 'answeredBy' | 'server'> {
  if (answeredBy !== 'named') return { answeredBy }
  const server = firstValue(query['server_id'])
  if (server === 'leader' || firstValue(query['node_id']) !== '') return { answeredBy: 'leader' }
  return server === '' ? { answeredBy: 'self' } : { answeredBy: 'self', server }
}

function regionError(route: Extract<RegionRoute, { kind: 'unknown' | 'reject' }>): HttpError {
  return route.kind === 'reject'
    ? new HttpError(MISDIRECTED, route.message)
    : refusalError(NO_PATH_TO_REGION)
}

function refusalError({ code, message }: Refusal): HttpError {
  return new HttpError(HTTP_STATUS[code], message, {}, code)
}
