import type { CommandSpec } from '../command.ts'

export const agentCommands: readonly CommandSpec[] = [
  {
    path: 'agent monitor',
    summary: 'Follow the log of a server or a node.',
    details:
      'Without flags, follows the log of the responding server. --log-level may be lower than ' +
      'the configured level; no restart is needed.',
    examples: [
      { line: 'reeve agent monitor', says: 'this server, from level info' },
      { line: 'reeve agent monitor --node 8a3f --log-level debug', says: 'a node, in detail' },
      { line: 'reeve agent monitor --server leader --json', says: 'the leader, as JSON lines' },
    ],
    flags: [
      { usage: '--node <NODE>', help: 'name or ID prefix of the node', completionKind: 'node' },
      { usage: '--server <NAME>', help: 'name of the server, or "leader"' },
      {
        usage: '--log-level <LEVEL>',
        help: 'lowest level: debug, info, warn or error (default: info)',
      },
      { usage: '--json', help: 'print each line as JSON' },
    ],
    load: async () => (await import('./agent.ts')).runAgentMonitor,
  },
  {
    path: 'agent info',
    summary: 'Show the version, role and state of the agent that answers.',
    examples: [
      { line: 'reeve agent info', says: 'statistics of the agent' },
      { line: 'reeve agent info --json', says: 'with its configuration, secrets redacted' },
    ],
    isRead: true,
    load: async () => (await import('./agent.ts')).runAgentInfo,
  },
]
