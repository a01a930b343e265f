import type { ArgumentSpec, CommandSpec } from '../command.ts'

const SERVICE: ArgumentSpec = { usage: '<SERVICE>', help: 'the name of a service' }

export const serviceCommands: readonly CommandSpec[] = [
  {
    path: 'service list',
    summary: 'List registered services.',
    examples: [{ line: 'reeve service list', says: 'names and tags' }],
    isRead: true,
    load: async () => (await import('./service.ts')).runServiceList,
  },
  {
    path: 'service info',
    summary: 'Show the instances of a service.',
    examples: [
      { line: 'reeve service info web', says: 'addresses and ports' },
      {
        line: `reeve service info -t '{{ range . }}{{ .Address }}:{{ .Port }} {{ end }}' web`,
        says: 'only the addresses',
      },
    ],
    args: [SERVICE],
    flags: [
      { usage: '--filter <EXPRESSION>', help: 'only instances that match this expression' },
      { usage: '-v, --verbose', help: 'show full IDs' },
    ],
    isRead: true,
    load: async () => (await import('./service.ts')).runServiceInfo,
  },
  {
    path: 'service delete',
    summary: 'Delete the registration of a service instance.',
    examples: [{ line: 'reeve service delete web _reeve-task-8a7f', says: 'by ID' }],
    args: [SERVICE, { usage: '<INSTANCE>', help: 'the ID of an instance, or a prefix of it' }],
    load: async () => (await import('./service.ts')).runServiceDelete,
  },
]
