import type { ArgumentSpec, CommandSpec } from '../command.ts'

const SERVICE: ArgumentSpec = { usage: '<SERVICE>', help: 'the name of a service' }

export const serviceCommands: readonly CommandSpec[] = [
  {
    path: 'service list',
    summary: 'List the services that jobs have registered.',
    examples: [{ line: 'reeve service list', says: 'names and tags' }],
    isRead: true,
    load: async () => (await import('./service.ts')).runServiceList,
  },
  {
    path: 'service info',
    summary: 'Show where the instances of a service are reached.',
    examples: [
      { line: 'reeve service info web', says: 'addresses and ports' },
      {
        line: `reeve service info -t '{{ range . }}{{ .Address }}:{{ .Port }} {{ end }}' web`,
        says: 'only the addresses',
      },
    ],
    args: [SERVICE],
    flags: [
      { usage: '--filter <EXPRESSION>', help: 'only instances it is true for' },
      { usage: '-v, --verbose', help: 'whole ids' },
    ],
    isRead: true,
    load: async () => (await import('./service.ts')).runServiceInfo,
  },
  {
    path: 'service delete',
    summary: 'Remove the registration of an instance that is gone.',
    examples: [{ line: 'reeve service delete web _reeve-task-8a7f', says: 'by its id' }],
    args: [SERVICE, { usage: '<INSTANCE>', help: 'its id, or the beginning of it' }],
    load: async () => (await import('./service.ts')).runServiceDelete,
  },
]
