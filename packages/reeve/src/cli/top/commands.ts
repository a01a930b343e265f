import type { CommandSpec } from '../command.ts'

export const topCommands: readonly CommandSpec[] = [
  {
    path: 'top',
    summary: 'Watch the whole cluster: nodes, the busiest allocations, what happens.',
    details:
      'Fills the screen and follows every change: arrow keys choose, Enter shows the chosen node ' +
      'or allocation, "?" explains the keys, "q" leaves. Into a pipe, or with --once, it prints ' +
      'one picture. Without --namespace it shows all that the token may see.',
    examples: [
      { line: 'reeve top', says: 'live, until "q"' },
      { line: 'reeve top --once', says: 'one picture, then end' },
      { line: `reeve top -t '{{ .Totals.Memory.Allocated }}'`, says: 'one number, for scripts' },
    ],
    flags: [{ usage: '--once', help: 'print one picture and end' }],
    isRead: true,
    load: async () => (await import('./top.ts')).runTop,
  },
]
