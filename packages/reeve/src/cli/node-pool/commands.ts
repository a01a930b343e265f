import type { ArgumentSpec, CommandSpec } from '../command.ts'

const POOL: ArgumentSpec = {
  usage: '<POOL>',
  help: 'the name of a node pool',
  completionKind: 'node-pool',
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
    examples: [{ line: 'reeve node pool info gpu', says: 'metadata and scheduler settings' }],
    args: [POOL],
    isRead: true,
    load: async () => (await import('./node-pool.ts')).runNodePoolInfo,
  },
  {
    path: 'node pool nodes',
    summary: 'List the nodes of a node pool.',
    examples: [{ line: 'reeve node pool nodes gpu', says: 'with their status' }],
    args: [POOL],
    flags: [{ usage: '-v, --verbose', help: 'show full IDs' }],
    isRead: true,
    load: async () => (await import('./node-pool.ts')).runNodePoolNodes,
  },
  {
    path: 'node pool jobs',
    summary: 'List the jobs of a node pool.',
    examples: [{ line: 'reeve node pool jobs gpu', says: 'of all namespaces' }],
    args: [POOL],
    isRead: true,
    load: async () => (await import('./node-pool.ts')).runNodePoolJobs,
  },
  {
    path: 'node pool apply',
    summary: 'Create or update a node pool.',
    details: 'A file (*.hcl, *.json or "-") replaces all settings; flags change single settings.',
    examples: [
      { line: 'reeve node pool apply --description "With graphics cards" gpu', says: 'by name' },
      { line: 'reeve node pool apply gpu.hcl', says: 'from a file' },
    ],
    args: [{ ...POOL, usage: '<POOL|FILE>', help: 'a name, or a file that describes it' }],
    flags: [
      { usage: '--description <TEXT>', help: 'description' },
      {
        usage: '--meta <KEY=VALUE>',
        help: 'metadata; replaces all existing metadata',
        isRepeated: true,
      },
    ],
    load: async () => (await import('./node-pool.ts')).runNodePoolApply,
  },
  {
    path: 'node pool delete',
    summary: 'Delete an unused node pool.',
    examples: [{ line: 'reeve node pool delete gpu', says: 'rejected while it has nodes or jobs' }],
    args: [POOL],
    load: async () => (await import('./node-pool.ts')).runNodePoolDelete,
  },
]
