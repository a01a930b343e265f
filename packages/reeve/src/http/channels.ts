import { v1Routes } from '@reeve/contract'
import {
  createStreamBuffers,
  NodeChannelServer,
  type NodeChannelDeps,
  NodeStreamServer,
} from '../sessions/index.ts'
import { parseJsonPrefix } from './json-body.ts'
import { routedRoute } from './pipeline/pipeline.ts'
import { bearerToken } from './pipeline/tenants.ts'
import { NODE_ROUTE, type RoutedChannel } from './pipeline/upgrades.ts'
import { type ExecChannelDeps, ExecChannelServer } from './v1/exec-channel.ts'

type ChannelDeps = Omit<ExecChannelDeps, 'streamBuffers'> & Omit<NodeChannelDeps, 'parseJson'>

/** Creates the channels of all WebSockets. */
export function createChannels(deps: ChannelDeps): readonly RoutedChannel[] {
  const { requests, clock } = deps
  const streamBuffers = createStreamBuffers()
  return [
    {
      channel: new ExecChannelServer({ ...deps, streamBuffers }),
      // Job actions are routed like exec sessions.
      route: routedRoute(v1Routes.execAllocation),
    },
    {
      channel: new NodeChannelServer({ ...deps, parseJson: parseJsonPrefix }),
      route: NODE_ROUTE,
    },
    {
      channel: new NodeStreamServer({ requests, clock, streamBuffers, bearerToken }),
      route: NODE_ROUTE,
    },
  ]
}
