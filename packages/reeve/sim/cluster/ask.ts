import type { ReadConsistency } from '../../src/http/index.ts'
import type { Draws } from '../draws.ts'
import type { Leader } from '../leader.ts'
import type { ClusterView } from './cluster-view.ts'
import { aRequest, type SimServer } from './sim-server.ts'

const PATIENCE_MS = 6_000
const TRAVEL_MS_MAX = 20
/** Maximum delay between the head of a request and its body, or before its handler runs. */
const BODY_MS_MAX = 100

export interface Asking<T> {
  /** The server that receives the request. */
  readonly entry: SimServer
  readonly method: 'GET' | 'PUT'
  readonly url: string
  readonly work: (leader: Leader, server: SimServer) => Promise<T>
}

function consistencyOf({ method, url }: Pick<Asking<unknown>, 'method' | 'url'>): ReadConsistency {
  const isRead = method === 'GET'
  const query = new URLSearchParams(url.split('?')[1])
  const answeredBy = isRead ? 'any' : 'leader'
  return { answeredBy, isRead, isStale: query.has('stale'), isConsistent: query.has('consistent') }
}

/**
 * Sends a client request to a server, which forwards it to the leader if the gate requires that.
 * Rejects when the request is refused, the connection breaks or the client times out; the outcome
 * is then unknown.
 */
export function ask<T>(cluster: ClusterView, draws: Draws, asking: Asking<T>): Promise<T> {
  const { clock } = cluster.world
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const travel = (work: () => void): void => void clock.after(draws.between(0, TRAVEL_MS_MAX), work)
  const refuse = (why: string): void => travel(() => reject(new Error(why)))
  clock.after(PATIENCE_MS, () => reject(new Error('no answer')))

  const arrive = (server: SimServer, isHop: boolean): void => {
    const opened = server.opened
    if (opened === undefined) return refuse('connection refused')
    const { gate, leader } = opened
    const { process } = server
    const request = aRequest(asking.method, asking.url)
    const carryOut = async (): Promise<void> => {
      // The server restarted in between, which closed its connections.
      if (server.opened !== opened) return refuse('connection closed')
      const result = await asking.work(leader, server)
      if (process.isDead) return
      if (gate.isStillLeader(request)) travel(() => resolve(result))
      else refuse('this server does not lead any more')
    }
    const begin = (): void => {
      // Some requests arrive in pieces; the server may be paused in between.
      if (draws.chance(0.5)) carryOut().catch((thrown: unknown) => refuse(String(thrown)))
      else
        process.after(draws.between(0, BODY_MS_MAX), () => {
          carryOut().catch((thrown: unknown) => refuse(String(thrown)))
        })
    }
    const answerer = gate.route(request, consistencyOf(asking))
    if (answerer === 'local') return begin()
    if (answerer === 'linearizable')
      return void gate.confirmLeadership().then(
        (isLeading) => (isLeading ? begin() : refuse('this server does not lead any more')),
        () => refuse('this server does not lead any more'),
      )
    const next = cluster.serverAt(server.knownLeader)
    if (answerer === 'no-leader' || isHop || next === undefined) return refuse('no leader')
    if (cluster.isApart(server.name, next.name)) return refuse('the leader is out of reach')
    travel(() => next.process.enter(() => arrive(next, true)))
  }
  travel(() => asking.entry.process.enter(() => arrive(asking.entry, false)))
  return promise
}
