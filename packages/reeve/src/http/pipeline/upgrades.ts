import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpAliases } from '../../compat/index.ts'
import { rejectUpgrade } from '../agent/upgrade.ts'
import { applyHeaderAliases } from '../request-normalization.ts'
import type { CrossOriginGuard } from '../transport/cross-origin.ts'
import type { ListenerTls } from '../server.ts'
import type { RejectedConnectionLog } from '../transport/rejected-connections.ts'
import type { Admission } from './admission.ts'
import type { RequestRouting, RoutedRoute } from './routing.ts'

/** Route of node WebSockets, which end at the leader of their own region. */
export const NODE_ROUTE: RoutedRoute = {
  handling: { answeredBy: 'leader', region: 'local', audit: 'none', cost: 1, growsState: false },
  isRead: true,
}

/** Serves the WebSockets of some paths. */
export interface WebSocketChannel {
  readonly route: RoutedRoute
  /** Kind of peer: nodes have limits of their own, and may need a client certificate. */
  readonly peer: 'client' | 'node'
  serves(request: IncomingMessage): boolean
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

interface UpgradeOptions {
  readonly channels: readonly WebSocketChannel[]
  readonly admission: Admission
  readonly routing: RequestRouting
  readonly crossOriginGuard: CrossOriginGuard | undefined
  readonly security: ListenerTls | undefined
  readonly rejectedConnections: RejectedConnectionLog
  readonly aliases: HttpAliases
}

const NODE_CERTIFICATE_REQUIREMENT =
  'nodes of this cluster prove themselves with a certificate (tls.rpc) that names them ' +
  'client.<region>.reeve, with the region of its servers'

/**
 * Runs the stages of a WebSocket upgrade: guard, admit, route. Its channel authenticates,
 * authorizes and audits it, because the token may come in the first frame.
 */
export function serveUpgrades(server: Server, options: UpgradeOptions): void {
  const { channels, admission, routing, crossOriginGuard, security, rejectedConnections } = options
  server.on('upgrade', (request, socket, head) => {
    applyHeaderAliases(options.aliases, request)
    const channel = channels.find((one) => one.serves(request))
    if (channel === undefined) return rejectUpgrade(socket, 404, 'no WebSocket has this path')
    if (channel.peer === 'client') {
      const problem = crossOriginGuard?.hostProblem(request)
      if (problem !== undefined) return rejectUpgrade(socket, 403, problem)
      const limited = admission.admitUpgrade(request)
      if (limited !== undefined)
        return rejectUpgrade(socket, limited.statusCode, limited.message, limited.headers)
    } else {
      // Checked before forwarding: behind a forwarder the connection is the other server's.
      const problem = security?.nodeProblem(request.socket)
      if (problem !== undefined) {
        const text = `${NODE_CERTIFICATE_REQUIREMENT}; this one ${problem}`
        rejectedConnections.log(request.socket, text)
        return rejectUpgrade(socket, 403, text)
      }
    }
    if (routing.routeUpgrade(request, socket, head, channel.route)) return
    channel.handleUpgrade(request, socket, head)
  })
}
