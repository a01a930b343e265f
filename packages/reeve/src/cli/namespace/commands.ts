import type { ArgumentSpec, CommandSpec } from '../command.ts'

const NAMESPACE: ArgumentSpec = {
  usage: '<NAME>',
  help: 'the name of a namespace',
  completes: 'namespace',
}

export const namespaceCommands: readonly CommandSpec[] = [
  {
    path: 'namespace list',
    summary: 'List the namespaces that the token may see.',
    examples: [{ line: 'reeve namespace list', says: 'names and descriptions' }],
    isRead: true,
    load: async () => (await import('./namespace.ts')).runNamespaceList,
  },
  {
    path: 'namespace status',
    summary: 'Show what a namespace allows.',
    examples: [{ line: 'reeve namespace status prod', says: 'drivers, node pools and meta' }],
    args: [NAMESPACE],
    isRead: true,
    load: async () => (await import('./namespace.ts')).runNamespaceStatus,
  },
  {
    path: 'namespace inspect',
    summary: 'Show a namespace as the API has it.',
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
    load: async () => (await import('./init.ts')).runNamespaceInit,
  },
  {
    path: 'namespace apply',
    summary: 'Create or change a namespace.',
    details:
      'A file (*.hcl, *.json or "-") says all of it; flags change what they name and keep the rest.',
    examples: [
      { line: 'reeve namespace apply --description "What customers see" prod', says: 'by name' },
      { line: 'reeve namespace apply prod.hcl', says: 'from a file' },
    ],
    args: [{ ...NAMESPACE, usage: '<NAME|FILE>', help: 'a name, or a file that describes it' }],
    flags: [
      { usage: '--description <TEXT>', help: 'what it is for' },
      { usage: '--meta <KEY=VALUE>', help: 'replaces its meta', isRepeated: true },
    ],
    load: async () => (await import('./namespace.ts')).runNamespaceApply,
  },
  {
    path: 'namespace delete',
    summary: 'Delete a namespace that nothing uses.',
    examples: [{ line: 'reeve namespace delete trial', says: 'refused while it has live jobs' }],
    args: [NAMESPACE],
    load: async () => (await import('./namespace.ts')).runNamespaceDelete,
  },
]
