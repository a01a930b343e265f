import type { CommandSpec } from '../command.ts'

export const searchCommands: readonly CommandSpec[] = [
  {
    path: 'search',
    summary: 'Find jobs, allocations, nodes and more by the beginning of their id or name.',
    examples: [
      { line: 'reeve search 8a7f', says: 'whatever it is' },
      { line: 'reeve search --fuzzy redis', says: 'also inside of jobs: groups, tasks, images' },
      { line: 'reeve search --context nodes web-', says: 'only nodes' },
    ],
    args: [{ usage: '<TEXT>', help: 'the beginning of an id or a name' }],
    flags: [
      { usage: '--fuzzy', help: 'find it anywhere in a name' },
      { usage: '--context <NAME>', help: 'jobs, evals, allocs, nodes, vars, … (default: all)' },
    ],
    isRead: true,
    load: async () => (await import('./search.ts')).runSearch,
  },
]
