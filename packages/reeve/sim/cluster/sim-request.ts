import type { ReadConsistency } from '../../src/http/index.ts'
import type { RandomStream } from '../random-stream.ts'
import type { SimLeader } from '../sim-leader.ts'
import type { SimCluster } from './sim-cluster.ts'
import { fakeRequest, type SimServer } from './sim-server.ts'

const REQUEST_TIMEOUT_MS = 6_000
const MAX_LATENCY_MS = 20
/** Maximum delay between the head of a request and its body, or before its handler runs. */
const MAX_BODY_DELAY_MS = 100

export interface SimRequest<T> {
  /** The server that receives the request. */
  readonly entry: SimServer
  readonly method: 'GET' | 'PUT'
  readonly url: string
  readonly handler: (leader: SimLeader, server: SimServer) => Promise<T>
}

function consistencyOf({
  method,
  url,
}: Pick<SimRequest<unknown>, 'method' | 'url'>): ReadConsistency {
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
export function sendRequest<T>(
  cluster: SimCluster,
  random: RandomStream,
  asking: SimRequest<T>,
): Promise<T> {
  const { clock } = cluster.world
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const sendAfterDelay = (work: () => void): void =>
    void clock.after(random.between(0, MAX_LATENCY_MS), work)
  const fail = (reason: string): void => sendAfterDelay(() => reject(new Error(reason)))
  clock.after(REQUEST_TIMEOUT_MS, () => reject(new Error('no answer')))

  const receive = (server: SimServer, isHop: boolean): void => {
    const openServer = server.openServer
    if (openServer === undefined) return fail('connection refused')
    const { gate, leader } = openServer
    const { process } = server
    const request = fakeRequest(asking.method, asking.url)
    const handle = async (): Promise<void> => {
      // The server restarted in between, which closed its connections.
      if (server.openServer !== openServer) return fail('connection closed')
      const result = await asking.handler(leader, server)
      if (process.isDead) return
      if (gate.isStillLeader(request)) sendAfterDelay(() => resolve(result))
      else fail('this server does not lead any more')
    }
    const start = (): void => {
      // Some requests arrive in pieces; the server may be paused in between.
      if (random.chance(0.5)) handle().catch((thrown: unknown) => fail(String(thrown)))
      else
        process.after(random.between(0, MAX_BODY_DELAY_MS), () => {
          handle().catch((thrown: unknown) => fail(String(thrown)))
        })
    }
    const route = gate.route(request, consistencyOf(asking))
    if (route === 'local') return start()
    if (route === 'linearizable')
      return void gate.confirmLeadership().then(
        (isLeading) => (isLeading ? start() : fail('this server does not lead any more')),
        () => fail('this server does not lead any more'),
      )
    const leaderServer = cluster.serverAt(server.knownLeader)
    if (route === 'no-leader' || isHop || leaderServer === undefined) return fail('no leader')
    if (cluster.isPartitioned(server.name, leaderServer.name))
      return fail('the leader is out of reach')
    sendAfterDelay(() => leaderServer.process.deliver(() => receive(leaderServer, true)))
  }
  sendAfterDelay(() => asking.entry.process.deliver(() => receive(asking.entry, false)))
  return promise
}
