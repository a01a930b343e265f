import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'

const NAME: ArgumentSpec = { usage: '<NAME>', help: 'the name of an organization' }

const SETTINGS: readonly FlagSpec[] = [
  { usage: '--email <EMAIL>', help: 'where its owners are reached' },
  { usage: '--require-override-comment', help: 'overrides of policies need a comment' },
  { usage: '--no-require-override-comment', help: 'overrides need no comment' },
]

export const orgCommands: readonly CommandSpec[] = [
  {
    path: 'org list',
    summary: 'List the organizations that the token may see.',
    examples: [{ line: 'reeve org list', says: 'with what the token may do in each' }],
    isRead: true,
    load: async () => (await import('./org.ts')).runOrgList,
  },
  {
    path: 'org show',
    summary: 'Show an organization.',
    examples: [{ line: 'reeve org show acme', says: 'its settings and permissions' }],
    args: [NAME],
    isRead: true,
    load: async () => (await import('./org.ts')).runOrgShow,
  },
  {
    path: 'org create',
    summary: 'Make an organization with its owners team and default project.',
    examples: [{ line: 'reeve org create acme --email ops@acme.example', says: 'a new one' }],
    args: [NAME],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('./org.ts')).runOrgCreate,
  },
  {
    path: 'org update',
    summary: 'Change an organization.',
    examples: [{ line: 'reeve org update acme --name acme-eu', says: 'another name' }],
    args: [NAME],
    flags: [{ usage: '--name <NAME>', help: 'its new name' }, ...SETTINGS],
    isRead: true,
    load: async () => (await import('./org.ts')).runOrgUpdate,
  },
  {
    path: 'org delete',
    summary: 'Delete an organization with everything in it.',
    examples: [{ line: 'reeve org delete acme', says: 'after asking' }],
    args: [NAME],
    flags: [{ usage: '-y, --yes', help: 'do not ask' }],
    load: async () => (await import('./org.ts')).runOrgDelete,
  },
]
