import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const NODE: ArgumentSpec = {
  usage: '[NODE]',
  help: 'the name of a node, or the beginning of its id',
  completes: 'node',
}
const VERBOSE: FlagSpec = { usage: '-v, --verbose', help: 'whole ids' }
const SELF: FlagSpec = { usage: '--self', help: 'the node of the agent that answers' }

export const nodeCommands: readonly CommandSpec[] = [
  {
    path: 'node status',
    aliases: ['node list', 'node ls'],
    summary: 'List nodes, or show one with its allocations.',
    examples: [
      { line: 'reeve node status', says: 'every node' },
      { line: 'reeve node status --stats web-1', says: 'one, with what it uses now' },
      { line: `reeve node status --filter 'Status != "ready"'`, says: 'those that are not well' },
    ],
    args: [NODE],
    flags: [
      SELF,
      { usage: '--stats', help: 'also what the machine uses now' },
      { usage: '--all', help: 'also allocations that have ended' },
      { usage: '--filter <EXPRESSION>', help: 'in the list, only nodes it is true for' },
      { usage: '-v, --verbose', help: 'whole ids and every attribute' },
    ],
    isRead: true,
    load: async () => (await import('./status.ts')).runNodeStatus,
  },
  {
    path: 'node drain',
    summary: 'Move the allocations off a node, or stop doing so.',
    details:
      'It stays until the drain is over. Ctrl-C leaves the drain going; --monitor goes on watching.',
    examples: [
      { line: 'reeve node drain --enable web-1', says: 'within an hour, as jobs allow' },
      { line: 'reeve node drain --enable --deadline 10m --ignore-system 4f2c', says: 'faster' },
      { line: 'reeve node drain --disable web-1', says: 'end it; the node takes work again' },
    ],
    args: [NODE],
    flags: [
      { usage: '--enable', help: 'begin to drain' },
      { usage: '--disable', help: 'end the drain' },
      { usage: '--monitor', help: 'only watch' },
      { usage: '--deadline <DURATION>', help: 'after this, what is left is stopped (default: 1h)' },
      { usage: '--no-deadline', help: 'let allocations take as long as they need' },
      { usage: '--force', help: 'stop everything at once' },
      { usage: '--ignore-system', help: 'leave system jobs on the node' },
      { usage: '--keep-ineligible', help: 'with --disable: take no new allocations yet' },
      { usage: '-m, --message <TEXT>', help: 'why, kept with the drain' },
      { usage: '--meta <KEY=VALUE>', help: 'kept with the drain', isRepeated: true },
      { usage: '-d, --detach', help: 'do not watch' },
      SELF,
    ],
    load: async () => (await import('./drain.ts')).runNodeDrain,
  },
  {
    path: 'node eligibility',
    summary: 'Let a node take new allocations, or no more of them.',
    examples: [
      { line: 'reeve node eligibility --disable web-1', says: 'keep what it has, take no more' },
      { line: 'reeve node eligibility --enable web-1', says: 'take work again' },
    ],
    args: [NODE],
    flags: [
      { usage: '--enable', help: 'take new allocations' },
      { usage: '--disable', help: 'take none' },
      SELF,
    ],
    load: async () => (await import('./change.ts')).runNodeEligibility,
  },
  {
    path: 'node purge',
    summary: 'Forget a node that is gone.',
    examples: [{ line: 'reeve node purge 4f2c', says: 'its jobs are placed elsewhere' }],
    args: [NODE],
    load: async () => (await import('./change.ts')).runNodePurge,
  },
  {
    path: 'node revoke',
    summary: 'Shut a node out for good.',
    details:
      'Its connections are closed, its allocations are replaced as those of a lost node, and its ' +
      'id is refused until "reeve node unrevoke". A machine that knows the shared join token can ' +
      'still join as a new node: rotate that token, or use a join token for each node.',
    examples: [
      { line: 'reeve node revoke --reason stolen web-1', says: 'it is refused from now on' },
    ],
    args: [NODE],
    flags: [{ usage: '--reason <TEXT>', help: 'kept with the revocation' }, SELF],
    load: async () => (await import('./admission.ts')).runNodeRevoke,
  },
  {
    path: 'node revocations',
    summary: 'List revoked nodes.',
    examples: [{ line: 'reeve node revocations', says: 'also those that were purged' }],
    flags: [VERBOSE],
    isRead: true,
    load: async () => (await import('./admission.ts')).runNodeRevocations,
  },
  {
    path: 'node unrevoke',
    summary: 'Undo the revocation of a node.',
    examples: [{ line: 'reeve node unrevoke 4f2c', says: 'it may connect again' }],
    args: [{ usage: '<NODE>', help: 'the beginning of the id of a revoked node' }],
    load: async () => (await import('./admission.ts')).runNodeUnrevoke,
  },
  {
    path: 'node rotate-secret',
    summary: 'Give a node a new secret.',
    details:
      'The node receives it over its connection; its tasks keep running. The old secret is valid ' +
      'until the node has stored the new one.',
    examples: [{ line: 'reeve node rotate-secret web-1', says: 'after a backup has leaked' }],
    args: [NODE],
    flags: [SELF],
    load: async () => (await import('./admission.ts')).runNodeRotateSecret,
  },
  {
    path: 'node join-token create',
    summary: 'Create a token that admits one new node, once.',
    examples: [
      { line: 'reeve node join-token create', says: 'valid for an hour' },
      {
        line: 'reeve node join-token create --ttl 10m --pool gpu --name gpu-7',
        says: 'for one machine of one pool',
      },
    ],
    flags: [
      { usage: '--ttl <DURATION>', help: 'how long it is valid, 1m to 24h (default: 1h)' },
      {
        usage: '--pool <POOL>',
        help: 'the pool that the node must be in',
        completes: 'node-pool',
      },
      { usage: '--name <NAME>', help: 'the name that the node must have' },
    ],
    isRead: true,
    load: async () => (await import('./admission.ts')).runJoinTokenCreate,
  },
  {
    path: 'node join-token list',
    summary: 'List join tokens, without their secrets.',
    examples: [{ line: 'reeve node join-token list', says: 'which are used, and by which node' }],
    flags: [VERBOSE],
    isRead: true,
    load: async () => (await import('./admission.ts')).runJoinTokenList,
  },
  {
    path: 'node join-token revoke',
    summary: 'Revoke a join token.',
    examples: [{ line: 'reeve node join-token revoke 8a7f', says: 'it admits nobody any more' }],
    args: [{ usage: '<TOKEN>', help: 'the id of a join token, or the beginning of one' }],
    load: async () => (await import('./admission.ts')).runJoinTokenRevoke,
  },
  {
    path: 'node join-token rotate-shared',
    summary: 'Replace the shared join token on all servers.',
    details: 'Nodes that have joined are not affected: each has a secret of its own.',
    examples: [
      { line: 'reeve node join-token rotate-shared', says: 'generates one' },
      { line: 'reeve node join-token rotate-shared token.txt', says: 'takes it from a file' },
    ],
    args: [{ usage: '[FILE]', help: 'the new token, "-" for standard input', completes: 'file' }],
    isRead: true,
    load: async () => (await import('./admission.ts')).runJoinTokenRotateShared,
  },
]
