import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const NODE: ArgumentSpec = {
  usage: '[NODE]',
  help: 'the name of a node, or a prefix of its ID',
  completionKind: 'node',
}
const VERBOSE: FlagSpec = { usage: '-v, --verbose', help: 'show full IDs' }
const SELF: FlagSpec = { usage: '--self', help: 'the node of the agent at this address' }

export const nodeCommands: readonly CommandSpec[] = [
  {
    path: 'node status',
    aliases: ['node list', 'node ls'],
    summary: 'List nodes, or show one with its allocations.',
    examples: [
      { line: 'reeve node status', says: 'all nodes' },
      { line: 'reeve node status --stats web-1', says: 'one node with its current resource usage' },
      { line: `reeve node status --filter 'Status != "ready"'`, says: 'nodes that are not ready' },
    ],
    args: [NODE],
    flags: [
      SELF,
      { usage: '--stats', help: 'include the resource usage of the host' },
      { usage: '--all', help: 'include terminal allocations' },
      { usage: '--filter <EXPRESSION>', help: 'only nodes that match this expression' },
      { usage: '-v, --verbose', help: 'show full IDs and all attributes' },
    ],
    isRead: true,
    load: async () => (await import('./status.ts')).runNodeStatus,
  },
  {
    path: 'node drain',
    summary: 'Drain a node, or stop draining it.',
    details:
      'Waits until the drain is complete. Ctrl-C does not stop the drain; --monitor resumes watching.',
    examples: [
      {
        line: 'reeve node drain --enable web-1',
        says: 'within one hour, as the migrate blocks of the jobs allow',
      },
      {
        line: 'reeve node drain --enable --deadline 10m --ignore-system 4f2c',
        says: 'with a shorter deadline',
      },
      {
        line: 'reeve node drain --disable web-1',
        says: 'stop draining; the node becomes eligible again',
      },
    ],
    args: [NODE],
    flags: [
      { usage: '--enable', help: 'start draining' },
      { usage: '--disable', help: 'stop draining' },
      { usage: '--monitor', help: 'only monitor a running drain' },
      {
        usage: '--deadline <DURATION>',
        help: 'remaining allocations are stopped after this time (default: 1h)',
      },
      { usage: '--no-deadline', help: 'drain without a deadline' },
      { usage: '--force', help: 'stop all allocations at once' },
      { usage: '--ignore-system', help: 'keep system jobs running' },
      { usage: '--keep-ineligible', help: 'with --disable: keep the node ineligible' },
      { usage: '-m, --message <TEXT>', help: 'reason, stored with the drain' },
      { usage: '--meta <KEY=VALUE>', help: 'metadata, stored with the drain', isRepeated: true },
      { usage: '-d, --detach', help: 'return at once' },
      SELF,
    ],
    load: async () => (await import('./drain.ts')).runNodeDrain,
  },
  {
    path: 'node eligibility',
    summary: 'Mark a node as eligible or ineligible for new allocations.',
    examples: [
      {
        line: 'reeve node eligibility --disable web-1',
        says: 'keep its allocations, accept no new ones',
      },
      { line: 'reeve node eligibility --enable web-1', says: 'accept allocations again' },
    ],
    args: [NODE],
    flags: [
      { usage: '--enable', help: 'mark the node as eligible' },
      { usage: '--disable', help: 'mark the node as ineligible' },
      SELF,
    ],
    load: async () => (await import('./write.ts')).runNodeEligibility,
  },
  {
    path: 'node purge',
    summary: 'Purge a node that is gone.',
    examples: [{ line: 'reeve node purge 4f2c', says: 'its allocations are rescheduled' }],
    args: [NODE],
    load: async () => (await import('./write.ts')).runNodePurge,
  },
  {
    path: 'node revoke',
    summary: 'Revoke a node permanently.',
    details:
      'Its connections are closed, its allocations are replaced as those of a lost node, and its ' +
      'id is refused until "reeve node unrevoke". A machine that knows the shared join token can ' +
      'still join as a new node: rotate that token, or use a join token for each node.',
    examples: [
      {
        line: 'reeve node revoke --reason stolen web-1',
        says: 'its connections are rejected from now on',
      },
    ],
    args: [NODE],
    flags: [{ usage: '--reason <TEXT>', help: 'reason, stored with the revocation' }, SELF],
    load: async () => (await import('./write.ts')).runNodeRevoke,
  },
  {
    path: 'node revocations',
    summary: 'List revoked nodes.',
    examples: [{ line: 'reeve node revocations', says: 'including purged nodes' }],
    flags: [VERBOSE],
    isRead: true,
    load: async () => (await import('./write.ts')).runNodeRevocations,
  },
  {
    path: 'node unrevoke',
    summary: 'Undo the revocation of a node.',
    examples: [{ line: 'reeve node unrevoke 4f2c', says: 'the node may connect again' }],
    args: [{ usage: '<NODE>', help: 'the ID of a revoked node, or a prefix of it' }],
    load: async () => (await import('./write.ts')).runNodeUnrevoke,
  },
  {
    path: 'node rotate-secret',
    summary: 'Rotate the secret of a node.',
    details:
      'The node receives it over its connection; its tasks keep running. The old secret is valid ' +
      'until the node has stored the new one.',
    examples: [{ line: 'reeve node rotate-secret web-1', says: 'after a backup was leaked' }],
    args: [NODE],
    flags: [SELF],
    load: async () => (await import('./write.ts')).runNodeRotateSecret,
  },
  {
    path: 'node meta read',
    summary: 'Show the metadata of a node.',
    details: 'Shows what constraints see, and whether a request or the configuration has set it.',
    examples: [
      { line: 'reeve node meta read web-1', says: 'the metadata of a node' },
      { line: 'reeve node meta read --self --json', says: 'of the agent at this address, as JSON' },
    ],
    args: [NODE],
    flags: [SELF],
    isRead: true,
    load: async () => (await import('./write.ts')).runNodeMetaRead,
  },
  {
    path: 'node meta apply',
    summary: 'Change the metadata of a node without a restart.',
    details:
      'The node keeps the change when it starts again. Values of requests win over values of the ' +
      'configuration. Running allocations are not moved.',
    examples: [
      { line: 'reeve node meta apply web-1 rack=r7 ssd=true', says: 'set two values' },
      { line: 'reeve node meta apply --unset rack web-1', says: 'remove a value' },
    ],
    args: [NODE, { usage: '[KEY=VALUE...]', help: 'values to set' }],
    flags: [SELF, { usage: '--unset <KEY>', help: 'a value to remove', isRepeated: true }],
    isRead: true,
    load: async () => (await import('./write.ts')).runNodeMetaApply,
  },
  {
    path: 'node join-token create',
    summary: 'Create a single-use token for a new node.',
    examples: [
      { line: 'reeve node join-token create', says: 'valid for an hour' },
      {
        line: 'reeve node join-token create --ttl 10m --pool gpu --name gpu-7',
        says: 'restricted to a node name and pool',
      },
    ],
    flags: [
      { usage: '--ttl <DURATION>', help: 'time to live, 1m to 24h (default: 1h)' },
      {
        usage: '--pool <POOL>',
        help: 'require this node pool',
        completionKind: 'node-pool',
      },
      { usage: '--name <NAME>', help: 'require this node name' },
    ],
    isRead: true,
    load: async () => (await import('./write.ts')).runJoinTokenCreate,
  },
  {
    path: 'node join-token list',
    summary: 'List join tokens, without their secrets.',
    examples: [{ line: 'reeve node join-token list', says: 'with the nodes that used them' }],
    flags: [VERBOSE],
    isRead: true,
    load: async () => (await import('./write.ts')).runJoinTokenList,
  },
  {
    path: 'node join-token revoke',
    summary: 'Revoke a join token.',
    examples: [
      { line: 'reeve node join-token revoke 8a7f', says: 'the token stops working at once' },
    ],
    args: [{ usage: '<TOKEN>', help: 'the ID of a join token, or a prefix of it' }],
    load: async () => (await import('./write.ts')).runJoinTokenRevoke,
  },
  {
    path: 'node join-token rotate-shared',
    summary: 'Replace the shared join token on all servers.',
    details: 'Nodes that have joined are not affected: each has its own secret.',
    examples: [
      { line: 'reeve node join-token rotate-shared', says: 'generate a token' },
      { line: 'reeve node join-token rotate-shared token.txt', says: 'read the token from a file' },
    ],
    args: [
      {
        usage: '[FILE]',
        help: 'a file with the new token; "-" reads standard input',
        completionKind: 'file',
      },
    ],
    isRead: true,
    load: async () => (await import('./write.ts')).runJoinTokenRotateShared,
  },
]
