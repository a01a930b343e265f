import { constant, option } from './option.ts'
import { secret } from './text-kinds.ts'
import { bool, integer } from './value-kinds.ts'

const nodesPerMinute = integer({ min: 0, max: 1_000_000 })

/** Settings for the admission of unknown nodes. */
export const admissionOptions = {
  joinToken: option({
    kind: secret,
    file: ['join_token'],
    environment: 'REEVE_JOIN_TOKEN',
    byDefault: constant(
      undefined,
      'a server makes one at its first start: `server/join-token` in its data directory',
    ),
    help:
      'Admits new nodes. On servers: the shared token, until it is rotated. On a node: that ' +
      'token, or one of its own (`reeve node join-token create`), which it shows until it is ' +
      'known. There is no flag, because flags are seen by every user of a machine.',
    read: (config) => config.server.joinToken,
  }),
  nodeJoinToken: option({
    kind: secret,
    file: ['client', 'join_token'],
    environment: 'REEVE_NODE_JOIN_TOKEN',
    byDefault: constant(undefined, 'the same as `join_token`'),
    help: 'The join token that the node shows, where the agent is a server too.',
    read: (config) => config.client.joinToken,
  }),
  sharedJoinToken: option({
    kind: bool,
    file: ['server', 'shared_join_token'],
    environment: 'REEVE_SHARED_JOIN_TOKEN',
    byDefault: constant(true, '`true`'),
    help:
      'Whether the shared join token admits new nodes. `false`: each new node needs a join token ' +
      'of its own. The same on all servers.',
    read: (config) => config.server.admission.allowsSharedToken,
  }),
  newNodesPerMinute: option({
    kind: nodesPerMinute,
    file: ['server', 'max_new_nodes_per_minute'],
    environment: 'REEVE_MAX_NEW_NODES_PER_MINUTE',
    byDefault: constant(1_200, '`1200`'),
    help: 'New nodes that a server admits each minute; others are refused and retry. 0 is any.',
    read: (config) => config.server.admission.newNodesPerMinuteMax,
  }),
  newNodesPerAddress: option({
    kind: nodesPerMinute,
    file: ['server', 'max_new_nodes_per_minute_per_address'],
    environment: 'REEVE_MAX_NEW_NODES_PER_MINUTE_PER_ADDRESS',
    byDefault: constant(120, '`120`'),
    help: 'The same for one IP address. Raise it where many nodes join from behind one address.',
    read: (config) => config.server.admission.newNodesPerAddressMax,
  }),
}
