import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const NODE: ArgumentSpec = {
  usage: '[NODE]',
  help: 'the name of a node, or the beginning of its id',
  completes: 'node',
}
const SELF: FlagSpec = { usage: '--self', help: 'the node of the agent that answers' }

export const nodeCommands: readonly CommandSpec[] = [
  {
    path: 'node status',
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
]
