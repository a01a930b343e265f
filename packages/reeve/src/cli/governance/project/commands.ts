import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG, TAG_FLAG } from '../flags.ts'

const PROJECT: ArgumentSpec = { usage: '<PROJECT>', help: 'the name or ID of a project' }

const SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'description; "" removes it' },
  {
    usage: '--auto-destroy <DURATION>',
    help:
      'auto-destroy workspaces after this time of inactivity, such as 14d or 24h; "" ' +
      'disables it',
  },
  TAG_FLAG,
  ORGANIZATION_FLAG,
]

export const projectCommands: readonly CommandSpec[] = [
  {
    path: 'project list',
    summary: 'List projects.',
    examples: [
      { line: 'reeve project list', says: 'all of the organization' },
      { line: 'reeve project list --search pay --json', says: 'names that contain "pay"' },
    ],
    flags: [
      { usage: '--search <TEXT>', help: 'only names that contain this text' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('../project.ts')).runProjectList,
  },
  {
    path: 'project show',
    summary: 'Show a project and its tags.',
    examples: [{ line: 'reeve project show payments', says: 'by its name' }],
    args: [PROJECT],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('../project.ts')).runProjectShow,
  },
  {
    path: 'project create',
    summary: 'Create a project.',
    examples: [{ line: 'reeve project create payments --tag env=prod', says: 'with a tag' }],
    args: [{ usage: '<NAME>', help: 'name, 3 to 40 characters' }],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('../project.ts')).runProjectCreate,
  },
  {
    path: 'project update',
    summary: 'Update a project. Tags replace all existing tags.',
    examples: [
      { line: 'reeve project update payments --name billing', says: 'rename it' },
      {
        line: 'reeve project update payments --auto-destroy 14d',
        says: 'destroy inactive workspaces',
      },
    ],
    args: [PROJECT],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...SETTINGS],
    isRead: true,
    load: async () => (await import('../project.ts')).runProjectUpdate,
  },
  {
    path: 'project delete',
    summary: 'Delete a project without workspaces and namespaces.',
    examples: [
      { line: 'reeve project delete payments', says: 'asks for confirmation' },
      { line: 'reeve project delete payments --force', says: 'with its workspaces' },
    ],
    args: [PROJECT],
    flags: [
      { usage: '--force', help: 'also delete its workspaces and detach its namespaces' },
      { usage: '-y, --yes', help: 'skip the confirmation' },
      ORGANIZATION_FLAG,
    ],
    load: async () => (await import('../project.ts')).runProjectDelete,
  },
  {
    path: 'project tag',
    summary: 'Add tags to a project, or update their values.',
    examples: [{ line: 'reeve project tag payments env=prod audited', says: 'two tags' }],
    args: [PROJECT, { usage: '<TAG...>', help: 'KEY or KEY=VALUE' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('../project.ts')).runProjectTag,
  },
  {
    path: 'project move',
    summary: 'Move workspaces to a project, all or none.',
    examples: [{ line: 'reeve project move payments api web', says: 'two workspaces' }],
    args: [PROJECT, { usage: '<WORKSPACE...>', help: 'names or IDs of workspaces' }],
    flags: [ORGANIZATION_FLAG],
    load: async () => (await import('../project.ts')).runProjectMove,
  },
  {
    path: 'project namespaces',
    summary: 'List or change the namespaces of a project; its policy sets apply to their jobs.',
    examples: [
      { line: 'reeve project namespaces payments', says: 'list them' },
      { line: 'reeve project namespaces payments --add prod', says: 'add one' },
    ],
    args: [PROJECT],
    flags: [
      {
        usage: '--add <NAMESPACE>',
        help: 'a namespace to add',
        isRepeated: true,
        completionKind: 'namespace',
      },
      {
        usage: '--remove <NAMESPACE>',
        help: 'a namespace to remove',
        isRepeated: true,
        completionKind: 'namespace',
      },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('../project.ts')).runProjectNamespaces,
  },
]
