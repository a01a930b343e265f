import type { ArgumentSpec, CommandSpec } from '../command.ts'

const POOL: ArgumentSpec = {
  usage: '<POOL>',
  help: 'the name of a node pool',
  completes: 'node-pool',
}

export const nodePoolCommands: readonly CommandSpec[] = [
  {
    path: 'node pool list',
    summary: 'List node pools.',
    examples: [{ line: 'reeve node pool list', says: 'names and descriptions' }],
    isRead: true,
    load: async () => (await import('./node-pool.ts')).runNodePoolList,
  },
  {
    path: 'node pool info',
    summary: 'Show a node pool.',
    examples: [{ line: 'reeve node pool info gpu', says: 'its meta and how it schedules' }],
    args: [POOL],
    isRead: true,
    load: async () => (await import('./node-pool.ts')).runNodePoolInfo,
  },
  {
    path: 'node pool nodes',
    summary: 'List the nodes of a pool.',
    examples: [{ line: 'reeve node pool nodes gpu', says: 'and how they do' }],
    args: [POOL],
    flags: [{ usage: '-v, --verbose', help: 'whole ids' }],
    isRead: true,
    load: async () => (await import('./node-pool.ts')).runNodePoolNodes,
  },
  {
    path: 'node pool jobs',
    summary: 'List the jobs that name a pool.',
    examples: [{ line: 'reeve node pool jobs gpu', says: 'of all namespaces' }],
    args: [POOL],
    isRead: true,
    load: async () => (await import('./node-pool.ts')).runNodePoolJobs,
  },
  {
    path: 'node pool apply',
    summary: 'Create or change a node pool.',
    details:
      'A file (*.hcl, *.json or "-") says all of it; flags change what they name and keep the rest.',
    examples: [
      { line: 'reeve node pool apply --description "With graphics cards" gpu', says: 'by name' },
      { line: 'reeve node pool apply gpu.hcl', says: 'from a file' },
    ],
    args: [{ ...POOL, usage: '<POOL|FILE>', help: 'a name, or a file that describes it' }],
    flags: [
      { usage: '--description <TEXT>', help: 'what it is for' },
      { usage: '--meta <KEY=VALUE>', help: 'replaces its meta', isRepeated: true },
    ],
    load: async () => (await import('./node-pool.ts')).runNodePoolApply,
  },
  {
    path: 'node pool delete',
    summary: 'Delete a node pool that nothing uses.',
    examples: [{ line: 'reeve node pool delete gpu', says: 'refused while it has nodes or jobs' }],
    args: [POOL],
    load: async () => (await import('./node-pool.ts')).runNodePoolDelete,
  },
]
