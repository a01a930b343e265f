import type { CommandSpec } from '../command.ts'

export const searchCommands: readonly CommandSpec[] = [
  {
    path: 'search',
    summary: 'Search jobs, allocations, nodes and more by ID or name prefix.',
    examples: [
      { line: 'reeve search 8a7f', says: 'any object whose ID starts with 8a7f' },
      { line: 'reeve search --fuzzy redis', says: 'also search groups, tasks and images of jobs' },
      { line: 'reeve search --context nodes web-', says: 'only nodes' },
    ],
    args: [{ usage: '<TEXT>', help: 'a prefix of an ID or name' }],
    flags: [
      { usage: '--fuzzy', help: 'match anywhere in a name' },
      { usage: '--context <NAME>', help: 'jobs, evals, allocs, nodes, vars, … (default: all)' },
    ],
    isRead: true,
    load: async () => (await import('./search.ts')).runSearch,
  },
]
