import type { Server } from 'node:http'
import type { HttpAliases } from '../../compat/index.ts'
import type { WebSocketChannel } from '../../sessions/index.ts'
import { rejectUpgrade } from '../response.ts'
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

/** A channel and the route by which its requests reach the server that serves them. */
export interface RoutedChannel {
  readonly channel: WebSocketChannel
  readonly route: RoutedRoute
}

interface UpgradeOptions {
  readonly channels: readonly RoutedChannel[]
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
    const routed = channels.find(({ channel }) => channel.serves(request))
    if (routed === undefined)
      return rejectUpgrade(socket, { status: 404, message: 'no WebSocket has this path' })
    const { channel, route } = routed
    if (channel.peer === 'client') {
      const problem = crossOriginGuard?.hostProblem(request)
      if (problem !== undefined) return rejectUpgrade(socket, { status: 403, message: problem })
      const limited = admission.admitUpgrade(request)
      if (limited !== undefined) {
        const { statusCode: status, message, headers } = limited
        return rejectUpgrade(socket, { status, message, headers })
      }
    } else {
      // Checked before forwarding: behind a forwarder the connection is the other server's.
      const problem = security?.nodeProblem(request.socket)
      if (problem !== undefined) {
        const message = `${NODE_CERTIFICATE_REQUIREMENT}; this one ${problem}`
        rejectedConnections.log(request.socket, message)
        return rejectUpgrade(socket, { status: 403, message })
      }
    }
    if (routing.routeUpgrade(request, socket, head, route)) return
    const rejection = channel.handleUpgrade(request, socket, head)
    if (rejection !== undefined) rejectUpgrade(socket, rejection)
  })
}
