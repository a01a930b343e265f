import type { CommandSpec } from '../command.ts'

export const topCommands: readonly CommandSpec[] = [
  {
    path: 'top',
    summary: 'Monitor the cluster: nodes, busiest allocations, recent events.',
    details:
      'Full-screen and live: arrow keys select, Enter shows the selected node or ' +
      'allocation, "?" lists the keys, "q" quits. In a pipe, or with --once, it prints one ' +
      'screen. Without --namespace it shows all namespaces that the token may read.',
    examples: [
      { line: 'reeve top', says: 'live, until "q"' },
      { line: 'reeve top --once', says: 'print one screen and exit' },
      { line: `reeve top -t '{{ .Totals.Memory.Allocated }}'`, says: 'one number, for scripts' },
    ],
    flags: [{ usage: '--once', help: 'print one screen and exit' }],
    isRead: true,
    load: async () => (await import('./top.ts')).runTop,
  },
]
