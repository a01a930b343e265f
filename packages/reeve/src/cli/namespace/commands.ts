import type { ArgumentSpec, CommandSpec } from '../command.ts'

const NAMESPACE: ArgumentSpec = {
  usage: '<NAME>',
  help: 'the name of a namespace',
  completionKind: 'namespace',
}

export const namespaceCommands: readonly CommandSpec[] = [
  {
    path: 'namespace list',
    summary: 'List namespaces.',
    examples: [{ line: 'reeve namespace list', says: 'names and descriptions' }],
    isRead: true,
    load: async () => (await import('./namespace.ts')).runNamespaceList,
  },
  {
    path: 'namespace status',
    summary: 'Show the settings of a namespace.',
    examples: [
      { line: 'reeve namespace status prod', says: 'allowed drivers, node pools and metadata' },
    ],
    args: [NAMESPACE],
    isRead: true,
    load: async () => (await import('./namespace.ts')).runNamespaceStatus,
  },
  {
    path: 'namespace inspect',
    summary: 'Print a namespace as JSON.',
    examples: [
      { line: 'reeve namespace inspect prod > prod.json', says: 'a file for "namespace apply"' },
    ],
    args: [NAMESPACE],
    isRead: true,
    load: async () => (await import('./namespace.ts')).runNamespaceInspect,
  },
  {
    path: 'namespace init',
    summary: 'Write an example file for "namespace apply".',
    examples: [{ line: 'reeve namespace init', says: 'writes namespace.hcl' }],
    args: [{ usage: '[FILE]', help: 'the file to write (default: namespace.hcl); "-" prints it' }],
    flags: [{ usage: '--force', help: 'overwrite an existing file' }],
    load: async () => (await import('./namespace.ts')).runNamespaceInit,
  },
  {
    path: 'namespace apply',
    summary: 'Create or update a namespace.',
    details: 'A file (*.hcl, *.json or "-") replaces all settings; flags change single settings.',
    examples: [
      { line: 'reeve namespace apply --description "What customers see" prod', says: 'by name' },
      { line: 'reeve namespace apply prod.hcl', says: 'from a file' },
    ],
    args: [{ ...NAMESPACE, usage: '<NAME|FILE>', help: 'a name, or a file that describes it' }],
    flags: [
      { usage: '--description <TEXT>', help: 'description' },
      {
        usage: '--meta <KEY=VALUE>',
        help: 'metadata; replaces all existing metadata',
        isRepeated: true,
      },
    ],
    load: async () => (await import('./namespace.ts')).runNamespaceApply,
  },
  {
    path: 'namespace delete',
    summary: 'Delete an unused namespace.',
    examples: [
      { line: 'reeve namespace delete trial', says: 'rejected while it has running jobs' },
    ],
    args: [NAMESPACE],
    load: async () => (await import('./namespace.ts')).runNamespaceDelete,
  },
]
